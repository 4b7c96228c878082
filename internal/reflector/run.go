package reflector

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// run is one attempt at a reflection.
type run struct {
	// as read at the start
	session  *memory.Session
	messages []*memory.Message // the new ones
	// newest purge before anything was read
	purged       int64
	opts         Options
	consultation *consultation
	result       Result
}

// tryReflect makes one attempt. The error is errStalePlan when another one is needed.
func (r *Reflector) tryReflect(ctx context.Context, space, id string, opts Options, asked *consultation) (Result,
	error) {
	view, a := r.store.Space(space), &run{purged: r.store.LastPurge(), opts: opts, consultation: asked}
	if asked.asked && asked.purged != a.purged {
		*asked = consultation{}
	}
	var err error
	if a.session, err = view.Session(id); err != nil {
		return Result{}, err
	}
	if opts.Open && a.session.State != memory.SessionOpen { // it has ended and is reflected as a whole
		return Result{AlreadyReflected: true, Op: a.session.ReflectedOp, Summary: a.session.Summary}, nil
	}
	messages, err := view.Messages(id, 0)
	if err != nil {
		return Result{}, fmt.Errorf("read the session's messages: %w", err)
	}
	messages = unreflectedMessages(a.session, messages)
	if len(messages) == 0 && (a.session.State == memory.SessionReflected ||
		opts.Open && a.session.Summaries <= a.session.ReflectedSummaries) {
		return Result{AlreadyReflected: true, Op: a.session.ReflectedOp, Summary: a.session.Summary}, nil
	}
	a.messages, err = r.consultModel(ctx, view, a.session, messages, opts, asked)
	asked.purged = a.purged
	if err != nil {
		return Result{}, err
	}
	a.result = Result{Messages: len(a.messages), DecidedBy: ByRules, Note: asked.fallbackReason}
	if a.result.Plan, err = r.buildPlan(ctx, view, id, a.messages, asked); err != nil {
		return Result{}, err
	}
	if err := r.attachReviews(&a.result.Plan); err != nil {
		return Result{}, err
	}
	if asked.reply != nil {
		a.result.DecidedBy = ByModel
	}
	if err := r.store.Writable(space); err != nil {
		a.result.Note = err.Error()
	}
	a.result.Summary = summaryOf(a.result.Plan, a.session.Summary)
	return r.commit(ctx, space, a)
}

// unreflectedMessages returns the messages since the last reflection, preceded by the host's context summary if it is
// new.
func unreflectedMessages(s *memory.Session, all []*memory.Message) (out []*memory.Message) {
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

// commit applies the plan and marks the messages as reflected, in one operation.
func (r *Reflector) commit(ctx context.Context, space string, a *run) (Result, error) {
	meta := store.Meta{Space: space, Actor: journal.ActorReflect, Reason: "session reflection", Session: a.session.ID}
	if r.model != nil {
		meta.Reason += " by the " + a.result.DecidedBy
	}
	done, err := r.store.Update(ctx, meta, func(tx *store.Tx) error {
		if r.store.LastPurge() != a.purged {
			return errStalePlan // messages and reply may contain purged text
		}
		return a.apply(tx)
	})
	switch {
	case errors.Is(err, errDryRun):
		return a.result, nil
	case err != nil:
		return Result{}, err
	}
	a.result.Op, a.result.Outcomes = done.Op, done.Outcomes
	if r.hints != nil {
		if ids := decidedHints(a.messages, r.hints.Shown(space, a.session.ID), r.store.Space(space)); len(ids) > 0 {
			r.hints.Complete(space, a.session.ID, ids)
		}
	}
	r.logger.DebugContext(ctx, "session reflected", "space", space, "session", a.session.ID, "op", a.result.Op, "items",
		len(a.result.Plan.Items))
	return a.result, nil
}

// apply runs in the transaction of commit.
func (a *run) apply(tx *store.Tx) error {
	current := tx.Session(a.session.ID)
	if current == nil {
		return &memory.NotFoundError{Kind: "session", Name: a.session.ID}
	}
	if current.ReflectedSeq != a.session.ReflectedSeq || current.ReflectedOp != a.session.ReflectedOp ||
		current.NextSeq != a.session.NextSeq && !a.rangeFixed() {
		return errStalePlan
	}
	outcomes := guard.Preview(a.result.Plan, tx)
	if hasStaleRuleItem(a.result.Plan, outcomes) {
		return errStalePlan // the rules decide again, so nothing learnt is lost
	}
	if err := guard.Apply(tx, a.result.Plan); err != nil {
		return err
	}
	tx.PutSession(a.reflectedSession(tx, current))
	if a.opts.DryRun {
		a.result.Outcomes, a.result.Changes = outcomes, tx.Changes()
		return errDryRun
	}
	return nil
}

// rangeFixed reports whether the range of messages stays as read, even if more arrived since.
func (a *run) rangeFixed() bool { return a.consultation.asked || a.opts.Open }

// reflectedSession returns the session header after the reflection. For a session that continues, only the range of
// messages is marked.
func (a *run) reflectedSession(tx *store.Tx, current *memory.Session) *memory.Session {
	next := *current
	next.Summary, next.ReflectedOp, next.ReflectedSummaries = a.result.Summary, tx.LSN(), a.session.Summaries
	upTo := a.session.NextSeq
	if a.consultation.asked {
		upTo = a.consultation.toSeq
	}
	if a.opts.Open || a.consultation.asked && (current.NextSeq > upTo || current.State == memory.SessionOpen &&
		a.session.State != memory.SessionOpen) {
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

// consultModel asks the model about the new messages, once per range, and returns the messages of the range.
func (r *Reflector) consultModel(ctx context.Context, view *store.Space, session *memory.Session,
	messages []*memory.Message,
	opts Options, asked *consultation) ([]*memory.Message, error) {
	if r.model == nil || len(messages) == 0 || r.store.Writable(view.Name()) != nil {
		*asked = consultation{}
		return messages, nil
	}
	again := asked.asked && asked.fromSeq == session.ReflectedSeq
	upTo := session.NextSeq
	if again {
		upTo = asked.toSeq
	}
	messages = slices.DeleteFunc(slices.Clone(messages), func(m *memory.Message) bool { return m.Seq >= upTo })
	if again || len(messages) == 0 {
		return messages, nil
	}
	return messages, r.askModel(ctx, view, session, messages, opts, asked)
}
