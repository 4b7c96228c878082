package reflector

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/store"
)

// attempt is one try at a reflection: what was read, and what was made of it.
type attempt struct {
	session  *memory.Session   // as it was read
	messages []*memory.Message // of the stretch
	purged   int64             // the newest purge before anything was read
	opts     Options
	asked    *stretch
	res      Result
}

func (r *Reflector) once(ctx context.Context, space, id string, opts Options, asked *stretch) (Result, error) {
	view, a := r.store.Space(space), &attempt{purged: r.store.LastPurge(), opts: opts, asked: asked}
	if asked.asked && asked.purged != a.purged {
		*asked = stretch{}
	}
	var err error
	if a.session, err = view.Session(id); err != nil {
		return Result{}, err
	}
	if opts.Open && a.session.State != memory.SessionOpen { // it ended, and is reflected as a whole
		return Result{AlreadyReflected: true, Op: a.session.ReflectedOp, Summary: a.session.Summary}, nil
	}
	messages, err := view.Messages(id, 0)
	if err != nil {
		return Result{}, fmt.Errorf("read the session's messages: %w", err)
	}
	messages = unreflected(a.session, messages)
	if len(messages) == 0 && (a.session.State == memory.SessionReflected || opts.Open && a.session.Summaries <= a.session.ReflectedSummaries) {
		return Result{AlreadyReflected: true, Op: a.session.ReflectedOp, Summary: a.session.Summary}, nil
	}
	a.messages, err = r.consult(ctx, view, a.session, messages, opts, asked)
	asked.purged = a.purged
	if err != nil {
		return Result{}, err
	}
	a.res = Result{Messages: len(a.messages), DecidedBy: ByRules, Note: asked.instead}
	if a.res.Plan, err = r.plan(ctx, view, id, a.messages, asked); err != nil {
		return Result{}, err
	}
	if err := r.reviewable(&a.res.Plan); err != nil {
		return Result{}, err
	}
	if asked.reply != nil {
		a.res.DecidedBy = ByModel
	}
	a.res.Summary = summaryOf(a.res.Plan, a.session.Summary)
	return r.commit(ctx, space, a)
}

// unreflected are the messages of the stretch: what the host made of the context, if that is new, and what was said since the last reflection.
func unreflected(s *memory.Session, all []*memory.Message) (out []*memory.Message) {
	for _, m := range slices.Backward(all) {
		if m.Seq == 0 && m.Role == memory.RoleSummary && s.Summaries > s.ReflectedSummaries {
			out = append(out, m)
			break
		}
	}
	for _, m := range all {
		if m.Seq >= max(s.ReflectedSeq, 1) {
			out = append(out, m)
		}
	}
	return out
}

// commit carries the plan out and marks the stretch, in one operation.
func (r *Reflector) commit(ctx context.Context, space string, a *attempt) (Result, error) {
	meta := store.Meta{Space: space, Actor: journal.ActorReflect, Reason: "session reflection", Session: a.session.ID}
	if r.model != nil {
		meta.Reason += " by the " + a.res.DecidedBy
	}
	done, err := r.store.Update(ctx, meta, func(tx *store.Tx) error {
		if r.store.LastPurge() != a.purged {
			return errMoved // what was read, and what a model said of it, may hold what was erased
		}
		return a.apply(tx)
	})
	switch {
	case errors.Is(err, errDryRun):
		return a.res, nil
	case err != nil:
		return Result{}, err
	}
	a.res.Op, a.res.Outcomes = done.Op, done.Outcomes
	if r.hints != nil {
		if ids := settled(a.messages, r.hints.Hinted(space, a.session.ID), r.store.Space(space)); len(ids) > 0 {
			r.hints.Settled(space, a.session.ID, ids)
		}
	}
	r.logger.DebugContext(ctx, "session reflected", "space", space, "session", a.session.ID, "op", a.res.Op, "items", len(a.res.Plan.Items))
	return a.res, nil
}

// apply is the transaction.
func (a *attempt) apply(tx *store.Tx) error {
	current := tx.Session(a.session.ID)
	if current == nil {
		return &memory.NotFoundError{Kind: "session", Name: a.session.ID}
	}
	if current.ReflectedSeq != a.session.ReflectedSeq || current.ReflectedOp != a.session.ReflectedOp || current.NextSeq != a.session.NextSeq && !a.fixed() {
		return errMoved
	}
	outcomes := plan.Preview(a.res.Plan, tx)
	if overtaken(a.res.Plan, outcomes) {
		return errMoved // what was learnt is decided anew, not lost
	}
	if err := plan.Apply(tx, a.res.Plan); err != nil {
		return err
	}
	tx.PutSession(a.mark(tx, current))
	if a.opts.DryRun {
		a.res.Outcomes, a.res.Changes = outcomes, tx.Changes()
		return errDryRun
	}
	return nil
}

// fixed reports whether the stretch is what it was when it was read, whatever arrived since.
func (a *attempt) fixed() bool { return a.asked.asked || a.opts.Open }

// mark is the header of the session after its reflection. Of a session that goes on only the stretch is done.
func (a *attempt) mark(tx *store.Tx, current *memory.Session) *memory.Session {
	next := *current
	next.Summary, next.ReflectedOp, next.ReflectedSummaries = a.res.Summary, tx.LSN(), a.session.Summaries
	upTo := a.session.NextSeq
	if a.asked.asked {
		upTo = a.asked.upTo
	}
	if a.opts.Open || a.asked.asked && (current.NextSeq > upTo || current.State == memory.SessionOpen && a.session.State != memory.SessionOpen) {
		next.ReflectedSeq = max(current.ReflectedSeq, upTo)
		return &next
	}
	next.State, next.ReflectedSeq = memory.SessionReflected, current.NextSeq
	if n := len(a.messages); n > 0 {
		next.ReflectedSeq = max(next.ReflectedSeq, a.messages[n-1].Seq+1)
	}
	if next.EndedAt.IsZero() {
		next.EndedAt, next.EndReason = tx.Now(), "reflect"
	}
	return &next
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
	return messages, r.ask(ctx, view, session, messages, opts, asked)
}
