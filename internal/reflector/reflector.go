// Package reflector learns from a session once it has ended: it reads the messages that were not reflected yet, lets
// deterministic rules in English and Chinese propose a plan, and applies what the guards allow together with the
// session's mark, so that nothing is learnt twice. It decides neither when a session ends nor what is allowed.
package reflector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

	// Reviews knows what a person was asked about before; nil is nothing.
	Reviews Reviews
}

// Reviews returns the proposals about some memories that were left to a person, whatever became of them.
type Reviews interface {
	Known(space string, targets []string) ([]*plan.Proposal, error)
}

// Reflector is safe for concurrent use.
type Reflector struct {
	store    *store.Store
	search   Similar
	now      func() time.Time
	location *time.Location
	logger   *slog.Logger
	model    Model   // nil without one
	hints    Hints   // nil without them
	reviews  Reviews // may be nil
}

// New makes a Reflector. Store, Search and Now are required.
func New(cfg Config) *Reflector {
	r := &Reflector{cfg.Store, cfg.Search, cfg.Now, cfg.Location, cfg.Logger, cfg.Model, cfg.Hints, cfg.Reviews}
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
	// Open reflects an open session that goes on: what was said so far is learnt from, and the session stays open.
	Open bool
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
	Changes          []journal.Change  // of a dry run: what the operation would hold
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
// memory that changes meanwhile is left as it is. After a purge meanwhile everything is read, and the model asked, anew.
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

// overtaken reports whether a memory that the rules decided about has changed meanwhile. What a model said of one is not asked anew: it is reported.
func overtaken(p plan.Plan, outcomes []journal.Outcome) bool {
	for i, o := range outcomes {
		if !p.Items[i].Model && o.Status == journal.Rejected && (o.Reason == plan.ReasonStale || o.Reason == plan.ReasonInactive) {
			return true
		}
	}
	return false
}

// reviewable has the plan keep what the guards leave to a person.
func (r *Reflector) reviewable(p *plan.Plan) (err error) {
	p.At = r.now().In(r.location)
	if r.reviews == nil {
		return nil
	}
	if p.Reviewed, err = r.reviews.Known(p.Space, p.Targets()); err != nil {
		return fmt.Errorf("look for what a person was asked before: %w", err)
	}
	return nil
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
