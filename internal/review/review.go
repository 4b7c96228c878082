// Package review is the queue of what was proposed and left to a person. It has no file of its own: an item is an entry of a daily log, written in the
// operation that did not do it, and the decision is a change of that entry in the operation that carries it out. It proposes
// nothing and knows no model.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Reasons of outcomes.
const (
	ReasonAlready   = "ALREADY_RESOLVED"   // the same was decided before
	ReasonOtherwise = "RESOLVED_OTHERWISE" // something else was decided before; undo that first
)

// attempts at an entry of a log that others write to meanwhile.
const attempts = 8

// Service is safe for concurrent use.
type Service struct {
	store *store.Store

	mu   sync.Mutex
	days map[dayKey]seenDay // guarded by mu
	// purge is the newest purge when days were read: it changes entries without a new revision. Guarded by mu.
	purge int64
}

type dayKey struct{ space, date string }

// seenDay is what is known of a daily log at a revision. It holds no text.
type seenDay struct {
	revision       int64
	items, pending int
}

// New makes a Service of a store.
func New(st *store.Store) *Service { return &Service{store: st, days: map[dayKey]seenDay{}} }

// Item is one proposal in the queue.
type Item struct {
	plan.Proposal
	Space string
	Date  string // of the daily log
	Entry *memory.Entry

	// Current is the memory that it is about, as it is now; nil when it is gone.
	Current *memory.Memory

	revision int64 // of the log it was read from
	purge    int64 // the newest purge then
}

// Pending reports whether nobody has decided yet.
func (i *Item) Pending() bool { return i.State == "" }

// Stale reports whether the memory is not any more what the proposal was about: it is gone, or says something else.
func (i *Item) Stale() bool { return !i.about(i.Current) }

// about reports whether m is what the proposal was about. After an undo, or with another salience, it still is.
func (i *Item) about(m *memory.Memory) bool {
	return m != nil && m.IsActive() && (m.Revision == i.Revision || m.Content == i.Before)
}

// item is what carries the proposal out on m. Of a memory that has changed, but not in its text, only the text is replaced.
func (i *Item) item(m *memory.Memory) plan.Item {
	item := i.Proposal.Item()
	if m.Revision != item.TargetRevision {
		item.TargetRevision, item.Memory = m.Revision, memory.Memory{Content: item.Memory.Content}
	}
	return item
}

// List returns the items of a space that wait, oldest first; with resolved, those that were decided too.
func (s *Service) List(space string, resolved bool) (out []Item, err error) {
	err = s.each(space, resolved, func(item Item) bool {
		if resolved || item.Pending() {
			out = append(out, item)
		}
		return true
	})
	return out, err
}

// Get returns an item. Error: memory.ErrNotFound.
func (s *Service) Get(space, id string) (out Item, err error) {
	err = s.each(space, true, func(item Item) bool {
		if item.Entry.ID == id {
			out = item
		}
		return out.Entry == nil
	})
	if err == nil && out.Entry == nil {
		err = &memory.NotFoundError{Kind: "review item", Name: id}
	}
	return out, err
}

// Known returns the proposals about some memories, whatever became of them, so that nobody is asked the same again.
func (s *Service) Known(space string, targets []string) (out []*plan.Proposal, err error) {
	if len(targets) == 0 {
		return nil, nil
	}
	err = s.each(space, true, func(item Item) bool {
		if slices.Contains(targets, item.Target) {
			out = append(out, &item.Proposal)
		}
		return true
	})
	return out, err
}

// Pending counts the items that wait, in all spaces.
func (s *Service) Pending() (n int, err error) {
	for _, space := range s.store.Spaces() {
		for _, d := range s.store.Space(space).Days() {
			seen, err := s.look(space, d, nil)
			if err != nil {
				return 0, err
			}
			n += seen.pending
		}
	}
	return n, nil
}

// each shows the items of a space to f until that returns false. Logs without any of interest are not read twice.
func (s *Service) each(space string, resolved bool, f func(Item) bool) error {
	view := s.store.Space(space)
	for _, d := range view.Days() {
		if seen, ok := s.known(view.Name(), d); ok && (seen.items == 0 || !resolved && seen.pending == 0) {
			continue
		}
		more := true
		_, err := s.look(view.Name(), d, func(item Item) {
			if !more {
				return
			}
			item.Current, _ = view.Get(item.Target)
			more = f(item)
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// known returns what is known of a log as it is now.
func (s *Service) known(space string, d *memory.Day) (seenDay, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.store.LastPurge(); now != s.purge {
		clear(s.days)
		s.purge = now
	}
	seen, ok := s.days[dayKey{space, d.Date}]
	return seen, ok && seen.revision == d.Revision
}

// look reads a log, unless f is nil and it is known, and shows its items.
func (s *Service) look(space string, d *memory.Day, f func(Item)) (seenDay, error) {
	seen, ok := s.known(space, d)
	if ok && f == nil {
		return seen, nil
	}
	purge := s.store.LastPurge()
	header, entries, err := s.store.Space(space).Log(d.Date)
	if errors.Is(err, memory.ErrNotFound) { // deleted meanwhile
		return seenDay{}, nil
	}
	if err != nil {
		return seenDay{}, fmt.Errorf("read the log of %s: %w", d.Date, err)
	}
	seen = seenDay{revision: header.Revision}
	for _, e := range entries {
		p := plan.ProposalOf(e)
		if p == nil {
			continue
		}
		seen.items++
		if p.State == "" {
			seen.pending++
		}
		if f != nil {
			f(Item{Proposal: *p, Space: space, Date: d.Date, Entry: e, revision: header.Revision, purge: purge})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if purge == s.purge {
		s.days[dayKey{space, d.Date}] = seen
	}
	return seen, nil
}

// Resolve carries an item out, or turns it down, and marks it as decided, in one operation. Undoing that operation undoes both. An item that was
// decided already changes nothing; the outcome says so. What the guards that know no exception refuse (a value forgotten meanwhile, a
// text that another memory has) is an outcome too, and the item goes on waiting.
//
// Durable on return. Errors: memory.ErrNotFound, *memory.StaleError when the memory changed since the proposal, memory.ErrBusy, those of
// the store.
func (s *Service) Resolve(ctx context.Context, meta store.Meta, id string, accept bool) (store.Result, error) {
	meta.Space = cmp.Or(meta.Space, memory.DefaultSpace)
	var check memory.Check
	check.Slug("space", meta.Space)
	check.ID("id", id)
	check.Text("reason", meta.Reason, memory.MaxTitle, false)
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	decision := plan.StateRejected
	if accept {
		decision = plan.StateAccepted
	}
	meta.Actor, meta.Reason = journal.ActorClient, cmp.Or(meta.Reason, "review item "+decision)
	for i := range attempts {
		if i > 0 {
			if err := s.settle(ctx, meta.Space); err != nil {
				return store.Result{}, err
			}
		}
		item, err := s.Get(meta.Space, id)
		if err != nil {
			return store.Result{}, err
		}
		res, err := s.store.Update(ctx, meta, func(tx *store.Tx) error {
			if now := s.store.LastPurge(); now != item.purge { // it changes entries without a new revision
				return &memory.StaleError{Kind: "log", Name: item.Date, Expected: item.purge, Current: now}
			}
			return resolve(tx, &item, decision)
		})
		if stale, ok := errors.AsType[*memory.StaleError](err); !ok || stale.Kind != "log" {
			return res, err
		}
	}
	return store.Result{}, fmt.Errorf("the daily log of review item %s keeps changing: %w", id, memory.ErrBusy)
}

// settle waits until everything staged is durable: what made a look stale may not be, and readers see only what is.
func (s *Service) settle(ctx context.Context, space string) error {
	_, err := s.store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorClient}, func(*store.Tx) error { return nil })
	if err != nil {
		return fmt.Errorf("wait for a change of the log: %w", err)
	}
	return nil
}

// resolve is the transaction.
func resolve(tx *store.Tx, item *Item, decision string) error {
	if err := tx.SameDay(item.Date, item.revision); err != nil {
		return err
	}
	outcome := journal.Outcome{ID: item.Entry.ID, Status: journal.Applied}
	switch {
	case item.State == decision:
		outcome.Status, outcome.Reason = journal.Duplicate, ReasonAlready
	case item.State != "":
		outcome.Status, outcome.Reason = journal.Rejected, ReasonOtherwise
	case decision == plan.StateAccepted:
		target := tx.Memory(item.Target)
		if !item.about(target) {
			return staleTarget(item, target)
		}
		var err error
		if outcome, err = plan.Accept(tx, item.item(target)); err != nil {
			return err
		}
	}
	tx.Report(outcome)
	if item.State != "" || outcome.Status == journal.Rejected {
		return nil
	}
	p := item.Proposal
	p.State, p.ResolvedAt = decision, tx.Now().Truncate(time.Second)
	after, err := plan.WithProposal(item.Entry, &p)
	if err != nil {
		return err
	}
	return tx.ChangeEntry(item.Date, item.Entry, after)
}

func staleTarget(item *Item, target *memory.Memory) error {
	stale := &memory.StaleError{Kind: "memory", Name: item.Target, Expected: item.Revision}
	if target != nil {
		stale.Current = target.Revision
	}
	return fmt.Errorf("the memory is not what the proposal was about; reject it, or change the memory yourself: %w", stale)
}
