// Package reflector learns memories from a session. A reflection reads the messages since the last one, lets a
// language model or deterministic rules (English and Chinese) propose a plan, and applies what package guard allows.
// The plan and the session's new state are one store operation, so nothing is learnt twice.
//
// Files: run.go and model.go control a reflection; planner.go holds the rules' plan; text.go cuts messages into
// sentences and rules.go reads them: request.go, correction.go and feedback.go what the user wants, userrules.go,
// taskrules.go and project.go statements, notkept.go what is none; tools.go, failureclass.go, signature.go, action.go,
// environment.go, procedure.go, successes.go and workflow.go learn from tool calls; prompt.go, transcript.go and
// reply.go talk to the model. The package decides neither when a session ends nor what is allowed.
package reflector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Similar finds the k memories of a space most similar to a text, by words and by meaning or by words alone. Scores are
// 0 to 1; 1 is the same text.
type Similar interface {
	Similar(ctx context.Context, space, text string, k int) ([]search.Hit, error)
	SimilarByWords(ctx context.Context, space, text string, k int) ([]search.Hit, error)
}

// Config configures a Reflector. Store, Search and Now are required.
type Config struct {
	Store  *store.Store
	Search Similar
	Now    func() time.Time
	// time zone of the daily logs; nil means UTC
	Location *time.Location
	// nil disables logging
	Logger *slog.Logger

	// Model proposes what to keep; nil leaves that to the rules.
	Model Model
	// Hints knows which rules were shown to a session before tool calls; nil means none.
	Hints Hints

	// Reviews knows earlier proposals that were left to a person; nil means none.
	Reviews Reviews
}

// Reviews returns earlier proposals about target memories, decided or not.
type Reviews interface {
	ProposalsFor(space string, targets []string) ([]*guard.Proposal, error)
}

// Reflector is safe for concurrent use.
type Reflector struct {
	store    *store.Store
	search   Similar
	now      func() time.Time
	location *time.Location
	logger   *slog.Logger
	model    Model   // may be nil
	hints    Hints   // may be nil
	reviews  Reviews // may be nil
}

// New makes a Reflector. It starts nothing.
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
	// report the result without changing anything
	DryRun bool
	// Open reflects an open session, which stays open: only the messages so far are marked as reflected.
	Open bool
}

// Result of a reflection.
type Result struct {
	// the operation; the one of the earlier reflection if AlreadyReflected
	Op int64
	// nothing is new since the last reflection
	AlreadyReflected bool
	// number of new messages
	Messages int
	Plan     guard.Plan
	// one per item of the plan
	Outcomes []journal.Outcome
	// summary of the new messages
	Summary string
	// ByModel or ByRules; "" with AlreadyReflected
	DecidedBy string
	// why the rules decided although a model is configured, or why nothing can be learnt into the space; else ""
	Note string
	// of a dry run: the changes of the operation
	Changes []journal.Change
}

const (
	// similar memories compared with a candidate
	maxNeighbours = 10
	// statements of a session that are compared by meaning, too, which takes some 10 ms each; the rest by words
	maxByMeaning = 64
	// plans made for a session that changes concurrently
	maxAttempts = 3
	// newest daily logs searched for earlier failures
	failureLogDays = 30
)

var (
	errStalePlan = errors.New("the session or a target of the plan changed")
	errDryRun    = errors.New("dry run")
)

// Reflect learns from the new messages of a session and marks them as reflected, in one operation. A session without
// new messages is not changed. If messages arrive or a target memory changes meanwhile, the plan is rebuilt, at most
// 3 times. No lock is held while a plan is built.
//
// A configured model is asked once; if it gives no usable reply, the rules decide. Messages that arrive during the
// question are left for the next reflection, and a target that changes during it is rejected as stale. After a
// concurrent purge everything is read again and the model asked again, because the reply may contain purged text.
//
// Durable on return. Errors: memory.ErrNotFound, memory.ErrBusy after too many concurrent changes, *WaitError, those
// of the store.
func (r *Reflector) Reflect(ctx context.Context, space, sessionID string, opts Options) (Result, error) {
	var asked consultation
	for i := range maxAttempts {
		if i > 0 {
			if err := r.waitDurable(ctx, space); err != nil {
				return Result{}, err
			}
		}
		res, err := r.tryReflect(ctx, space, sessionID, opts, &asked)
		if !errors.Is(err, errStalePlan) {
			return res, err
		}
	}
	return Result{}, fmt.Errorf("reflect session %q: gave up after %d conflicting concurrent changes: %w", sessionID,
		maxAttempts,
		memory.ErrBusy)
}

// waitDurable waits until every staged operation is durable. Readers see durable state only, so without the wait the
// next plan could miss the change that made this one stale.
func (r *Reflector) waitDurable(ctx context.Context, space string) error {
	_, err := r.store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorReflect}, func(*store.Tx) error {
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for concurrent changes: %w", err)
	}
	return nil
}

// hasStaleRuleItem reports whether a target of the rules' items changed since the plan. A model's items are not
// counted: the model is not asked again, and their outcome reports the rejection.
func hasStaleRuleItem(p guard.Plan, outcomes []journal.Outcome) bool {
	for i, o := range outcomes {
		if !p.Items[i].Model && o.Status == journal.Rejected &&
			(o.Reason == guard.ReasonStale || o.Reason == guard.ReasonInactive) {
			return true
		}
	}
	return false
}

// attachReviews prepares the plan for review items: their time, and the earlier proposals that need no repetition.
func (r *Reflector) attachReviews(p *guard.Plan) (err error) {
	p.At = r.now().In(r.location)
	if r.reviews == nil {
		return nil
	}
	if p.Reviewed, err = r.reviews.ProposalsFor(p.Space, p.Targets()); err != nil {
		return fmt.Errorf("find earlier review items: %w", err)
	}
	return nil
}

// buildPlan builds the plan on the current durable state.
func (r *Reflector) buildPlan(ctx context.Context, view *store.Space, id string, messages []*memory.Message,
	asked *consultation) (guard.Plan, error) {
	in, err := r.ruleInput(view, id, messages)
	if err != nil {
		return guard.Plan{}, err
	}
	if asked.reply != nil {
		return r.planFromReply(ctx, in, asked)
	}
	var failed error
	compared := 0
	in.Similar = func(text string) []guard.Neighbour {
		if failed != nil {
			return nil
		}
		similar := r.search.Similar
		if compared++; compared > maxByMeaning {
			similar = r.search.SimilarByWords
		}
		hits, err := similar(ctx, view.Name(), text, maxNeighbours)
		failed = err
		near := make([]guard.Neighbour, len(hits))
		for i, h := range hits {
			near[i] = guard.Neighbour{Memory: h.Memory, Score: h.Score}
		}
		return near
	}
	p := Reflect(in)
	if failed != nil {
		return guard.Plan{}, fmt.Errorf("find similar memories: %w", failed)
	}
	return p, nil
}

// ruleInput collects the input of the rules, except for the search.
func (r *Reflector) ruleInput(view *store.Space, id string, messages []*memory.Message) (Input, error) {
	in := Input{Space: view.Name(), Session: id, Messages: messages, Location: r.location, Now: r.now()}
	in.Known = func(id string) *memory.Memory { m, _ := view.Get(id); return m }
	if r.hints != nil {
		in.ShownHints = r.hints.Shown(view.Name(), id)
	}
	in.Worked = workedRules(view, messages)
	if wanted := signatures(messages); len(wanted) > 0 {
		in.Rules = rulesFor(view, wanted)
		var err error
		if in.Failures, err = pastCounts(view, wanted); err != nil {
			return in, err
		}
	}
	return in, nil
}

// signatures returns the signatures of failures and workflows in messages, and the kinds of the failures.
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

// rulesFor returns the active memories about these failures, kinds of failures and workflows, by signature or kind.
func rulesFor(view *store.Space, wanted map[string]bool) map[string]*memory.Memory {
	out := map[string]*memory.Memory{}
	for _, m := range view.Memories() {
		if m.Context() == nil || m.Context().Signature == "" || !m.IsActive() {
			continue
		}
		if wanted[m.Context().Signature] {
			out[m.Context().Signature] = m
		}
		if kind := kindKey(Action{tool: toolcall.Canonical(m.Context().Tool), shape: KnowledgeOf(m).Shape},
			m.Context().ErrorType); wanted[kind] {
			out[kind] = m
		}
	}
	return out
}

// summaryOf returns the text of the plan's session_summary entry, else the earlier summary.
func summaryOf(p guard.Plan, earlier string) string {
	for _, e := range p.Entries {
		if e.Entry.Type == memory.EntrySessionSummary {
			return e.Entry.Content
		}
	}
	return earlier
}
