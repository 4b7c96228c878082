// Package reflector learns from a session once it has ended: it reads the messages that were not reflected yet, lets
// deterministic rules in English and Chinese propose a plan, and applies what the guards allow together with the
// session's mark, so that nothing is learnt twice. It decides neither when a session ends nor what is allowed.
package reflector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Similar finds the memories of a space that are nearest to a text; score 1 is the same text.
type Similar interface {
	Similar(ctx context.Context, space, text string, k int) ([]search.Hit, error)
}

// Config is what a Reflector works with.
type Config struct {
	Store    *store.Store
	Search   Similar
	Now      func() time.Time
	Location *time.Location // of the daily logs; nil is UTC
	Logger   *slog.Logger   // nil discards

	// Model says what to keep of a session; nil leaves that to the rules.
	Model Model
	// Hints says which rules sessions were hinted at; nil: none.
	Hints Hints
}

// Reflector is safe for concurrent use.
type Reflector struct {
	store    *store.Store
	search   Similar
	now      func() time.Time
	location *time.Location
	logger   *slog.Logger
	model    Model // nil without one
	hints    Hints // nil without them
}

// New makes a Reflector. Store, Search and Now are required.
func New(cfg Config) *Reflector {
	r := &Reflector{cfg.Store, cfg.Search, cfg.Now, cfg.Location, cfg.Logger, cfg.Model, cfg.Hints}
	if r.location == nil {
		r.location = time.UTC
	}
	if r.logger == nil {
		r.logger = slog.New(slog.DiscardHandler)
	}
	return r
}

// Options of one reflection.
type Options struct {
	DryRun bool // say what would happen, change nothing
}

// Result of a reflection.
type Result struct {
	Op               int64 // the operation; that of the earlier reflection with AlreadyReflected
	AlreadyReflected bool  // there was nothing new since the last reflection
	Messages         int   // how many messages were new
	Plan             plan.Plan
	Outcomes         []journal.Outcome // one for each item of the plan
	Summary          string            // of the stretch
	DecidedBy        string            // ByModel or ByRules; "" with AlreadyReflected
	Note             string            // why the rules decided although there is a model; else ""
}

const (
	neighbours = 10 // memories a candidate is compared with
	attempts   = 3  // plans made for a session that moves on meanwhile
	lookBack   = 30 // daily logs searched for earlier failures
)

var (
	errMoved  = errors.New("the session or a memory the plan is about moved on")
	errDryRun = errors.New("dry run")
)

// Reflect learns from what is new in a session and marks it as reflected, in one operation. A session with nothing new
// is left alone. When messages arrive or a memory it is about changes while the plan is made it is made anew, at most 3 times. No lock is held meanwhile.
//
// With a model, that is asked once, and the rules decide where it is of no use. What arrives meanwhile is left for the next reflection, and a
// memory that changes meanwhile is left as it is.
//
// Durable on return. Errors: memory.ErrNotFound, memory.ErrBusy when things would not stand still, *WaitError, those of the store.
func (r *Reflector) Reflect(ctx context.Context, space, sessionID string, opts Options) (Result, error) {
	var asked stretch
	for i := range attempts {
		if i > 0 {
			if err := r.settle(ctx, space); err != nil {
				return Result{}, err
			}
		}
		res, err := r.once(ctx, space, sessionID, opts, &asked)
		if !errors.Is(err, errMoved) {
			return res, err
		}
	}
	return Result{}, fmt.Errorf("session %q or what it is about keeps changing: %w", sessionID, memory.ErrBusy)
}

// settle waits until everything staged is durable: what made a plan stale may not be, and readers see only what is.
func (r *Reflector) settle(ctx context.Context, space string) error {
	_, err := r.store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorReflect}, func(*store.Tx) error { return nil })
	if err != nil {
		return fmt.Errorf("wait for what arrived meanwhile: %w", err)
	}
	return nil
}

func (r *Reflector) once(ctx context.Context, space, id string, opts Options, asked *stretch) (Result, error) {
	view := r.store.Space(space)
	session, err := view.Session(id)
	if err != nil {
		return Result{}, err
	}
	messages, err := view.Messages(id, max(session.ReflectedSeq, 1))
	if err != nil {
		return Result{}, fmt.Errorf("read the session's messages: %w", err)
	}
	if len(messages) == 0 && session.State == memory.SessionReflected {
		return Result{AlreadyReflected: true, Op: session.ReflectedOp, Summary: session.Summary}, nil
	}
	messages, err = r.consult(ctx, view, session, messages, opts, asked)
	if err != nil {
		return Result{}, err
	}
	res := Result{Messages: len(messages), DecidedBy: ByRules, Note: asked.instead}
	if res.Plan, err = r.plan(ctx, view, id, messages, asked); err != nil {
		return Result{}, err
	}
	if asked.reply != nil {
		res.DecidedBy = ByModel
	}
	res.Summary = summaryOf(res.Plan, session.Summary)
	meta := store.Meta{Space: space, Actor: journal.ActorReflect, Reason: "session reflection", Session: id}
	if r.model != nil {
		meta.Reason += " by the " + res.DecidedBy
	}
	done, err := r.store.Update(ctx, meta, func(tx *store.Tx) error {
		current := tx.Session(id)
		if current == nil {
			return &memory.NotFoundError{Kind: "session", Name: id}
		}
		if current.ReflectedSeq != session.ReflectedSeq || current.ReflectedOp != session.ReflectedOp || current.NextSeq != session.NextSeq && !asked.asked {
			return errMoved
		}
		outcomes := plan.Preview(res.Plan, tx)
		if overtaken(res.Plan, outcomes) {
			return errMoved // what was learnt is decided anew, not lost
		}
		if opts.DryRun {
			res.Outcomes = outcomes
			return errDryRun
		}
		p := res.Plan
		p.Entries = slices.Concat(p.Entries, r.forReview(p, outcomes))
		if err := plan.Apply(tx, p); err != nil {
			return err
		}
		next := reflected(current, messages, tx, res.Summary)
		if asked.asked && (current.NextSeq > asked.upTo || current.State == memory.SessionOpen && session.State != memory.SessionOpen) {
			// It went on while the model was asked: only the stretch is done.
			next = new(*current)
			next.ReflectedSeq, next.ReflectedOp, next.Summary = max(current.ReflectedSeq, asked.upTo), tx.LSN(), res.Summary
		}
		tx.PutSession(next)
		return nil
	})
	switch {
	case errors.Is(err, errDryRun):
		return res, nil
	case err != nil:
		return Result{}, err
	}
	res.Op, res.Outcomes = done.Op, done.Outcomes
	if r.hints != nil {
		if ids := settled(messages, r.hints.Hinted(space, id), view); len(ids) > 0 {
			r.hints.Settled(space, id, ids)
		}
	}
	r.logger.DebugContext(ctx, "session reflected", "space", space, "session", id, "op", res.Op, "items", len(res.Plan.Items))
	return res, nil
}

// consult has the model asked about what is new, once for each stretch, and returns the messages of the stretch.
func (r *Reflector) consult(ctx context.Context, view *store.Space, session *memory.Session, messages []*memory.Message, opts Options, asked *stretch) ([]*memory.Message, error) {
	if r.model == nil || len(messages) == 0 {
		*asked = stretch{}
		return messages, nil
	}
	again := asked.asked && asked.from == session.ReflectedSeq
	upTo := session.NextSeq
	if again {
		upTo = asked.upTo
	}
	messages = slices.DeleteFunc(slices.Clone(messages), func(m *memory.Message) bool { return m.Seq >= upTo })
	if again || len(messages) == 0 {
		return messages, nil
	}
	return messages, r.ask(ctx, view, session, messages, opts.DryRun, asked)
}

// overtaken reports whether a memory that the rules decided about has changed meanwhile. What a model said of one is not asked anew: it is reported.
func overtaken(p plan.Plan, outcomes []journal.Outcome) bool {
	for i, o := range outcomes {
		if !p.Items[i].Model && o.Status == journal.Rejected && (o.Reason == plan.ReasonStale || o.Reason == plan.ReasonInactive) {
			return true
		}
	}
	return false
}

// forReview keeps in the daily log what the guards leave to a person: the text would be lost otherwise.
func (r *Reflector) forReview(p plan.Plan, outcomes []journal.Outcome) (out []plan.DatedEntry) {
	at := r.now().In(r.location)
	for i, o := range outcomes {
		if o.Status != journal.Rejected || !strings.HasPrefix(o.Reason, plan.ReviewPrefix) {
			continue
		}
		text, item := "["+o.Reason+" "+o.ID+"] ", p.Items[i]
		out = append(out, plan.DatedEntry{Date: date(at), Entry: memory.Entry{At: at, Time: at.Format(time.TimeOnly), Type: memory.EntryReview, Content: text + item.Memory.Content, Session: p.Session}})
	}
	return out
}

// reflected is the header of a session after its reflection.
func reflected(s *memory.Session, messages []*memory.Message, tx *store.Tx, summary string) *memory.Session {
	next := *s
	next.State = memory.SessionReflected
	next.ReflectedSeq, next.ReflectedOp = s.NextSeq, tx.LSN()
	if len(messages) > 0 {
		next.ReflectedSeq = max(next.ReflectedSeq, messages[len(messages)-1].Seq+1)
	}
	if next.EndedAt.IsZero() {
		next.EndedAt, next.EndReason = tx.Now(), "reflect"
	}
	next.Summary = summary
	return &next
}

// plan makes the plan on what is durable now.
func (r *Reflector) plan(ctx context.Context, view *store.Space, id string, messages []*memory.Message, asked *stretch) (plan.Plan, error) {
	in, err := r.input(view, id, messages)
	if err != nil {
		return plan.Plan{}, err
	}
	if asked.reply != nil {
		return r.planFrom(ctx, in, asked)
	}
	var failed error
	in.Similar = func(text string) []plan.Neighbour {
		if failed != nil {
			return nil
		}
		hits, err := r.search.Similar(ctx, view.Name(), text, neighbours)
		failed = err
		near := make([]plan.Neighbour, len(hits))
		for i, h := range hits {
			near[i] = plan.Neighbour{Memory: h.Memory, Score: h.Score}
		}
		return near
	}
	p := Reflect(in)
	if failed != nil {
		return plan.Plan{}, fmt.Errorf("find similar memories: %w", failed)
	}
	return p, nil
}

// input is what both the rules and a model go by, but for the search.
func (r *Reflector) input(view *store.Space, id string, messages []*memory.Message) (Input, error) {
	in := Input{Space: view.Name(), Session: id, Messages: messages, Location: r.location, Now: r.now()}
	in.Known = func(id string) *memory.Memory { m, _ := view.Get(id); return m }
	if r.hints != nil {
		in.Hinted = r.hints.Hinted(view.Name(), id)
	}
	if wanted := signatures(messages); len(wanted) > 0 {
		in.Rules = rulesAbout(view, wanted)
		var err error
		if in.Failures, err = seenBefore(view, wanted); err != nil {
			return in, err
		}
	}
	return in, nil
}

// signatures lists what failed in a stretch, of what kind that is, and what worked.
func signatures(messages []*memory.Message) map[string]bool {
	out := map[string]bool{}
	for _, f := range failures(messages) {
		out[f.signature] = true
		if kind := f.kind(); kind != "" {
			out[kind] = true
		}
	}
	for _, w := range workflowsIn(messages) {
		out[w.signature] = true
	}
	return out
}

// rulesAbout finds the memories that are about these failures, or this kind of failure, and these workflows.
func rulesAbout(view *store.Space, wanted map[string]bool) map[string]*memory.Memory {
	out := map[string]*memory.Memory{}
	for _, m := range view.Memories() {
		if m.Context == nil || m.Context.Signature == "" || !m.IsActive() {
			continue
		}
		if wanted[m.Context.Signature] {
			out[m.Context.Signature] = m
		}
		if kind := kindKey(Action{tool: m.Context.Tool, shape: KnowledgeOf(m).Shape}, m.Context.ErrorType); wanted[kind] {
			out[kind] = m
		}
	}
	return out
}

// summaryOf is the text of the plan's session_summary entry, else the earlier summary.
func summaryOf(p plan.Plan, earlier string) string {
	for _, e := range p.Entries {
		if e.Entry.Type == memory.EntrySessionSummary {
			return e.Entry.Content
		}
	}
	return earlier
}
