// Package review is the queue of proposals that package guard left to a person. The queue has no file: an item is a
// daily log entry, written by the operation that rejected the proposal, and a decision is a change of that entry in
// the operation that applies it. So undo of that operation restores both.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Reasons of outcomes of Resolve.
const (
	// the item was resolved with the same decision
	ReasonAlreadyResolved = "ALREADY_RESOLVED"
	// the item was resolved with the other decision; undo that first
	ReasonResolvedOtherwise = "RESOLVED_OTHERWISE"
)

// Decision is a person's answer to a proposal. Its value is the Proposal.State that it leads to.
type Decision string

// The decisions.
const (
	Accept Decision = guard.StateAccepted
	Reject Decision = guard.StateRejected
)

// maxAttempts is the number of attempts at an entry of a log with concurrent writes.
const maxAttempts = 8

// Service lists and resolves review items. It is safe for concurrent use.
type Service struct {
	store *store.Store

	mu   sync.Mutex
	days map[dayKey]dayCounts // guarded by mu
	// purge is the newest purge when days were read, because a purge changes entries without a new revision. Guarded
	// by mu.
	purge int64
}

// dayKey identifies a daily log.
type dayKey struct{ space, date string }

// dayCounts caches the number of items in a daily log at a revision. It contains no text.
type dayCounts struct {
	revision       int64
	items, pending int
}

// New makes a Service of a store.
func New(st *store.Store) *Service { return &Service{store: st, days: map[dayKey]dayCounts{}} }

// Item is one proposal in the queue.
type Item struct {
	guard.Proposal
	Space string
	Date  string // of the daily log
	Entry *memory.Entry

	// Current is the target memory now; nil if it is gone.
	Current *memory.Memory

	// of the log when it was read
	revision int64
	// newest purge before the read
	purge int64
}

// Pending reports whether the item is undecided.
func (i *Item) Pending() bool { return i.State == "" }

// Stale reports whether the target is gone or has another text, so that the proposal no longer applies.
func (i *Item) Stale() bool { return !i.matchesTarget(i.Current) }

// matchesTarget reports whether m still has the text or revision of the proposal. An undo, or another salience, does
// not matter.
func (i *Item) matchesTarget(m *memory.Memory) bool {
	return m != nil && m.IsActive() && (m.Revision == i.Revision || m.Content == i.Before)
}

// item returns the item that applies the proposal to m. If m changed, but not in its text, only the text is replaced.
func (i *Item) item(m *memory.Memory) guard.Item {
	item := i.Proposal.Item()
	if m.Revision != item.TargetRevision {
		item.TargetRevision, item.Memory = m.Revision, memory.Memory{Content: item.Memory.Content}
	}
	return item
}

// List returns the pending items of a space, oldest first; with resolved, decided items too.
func (s *Service) List(space string, resolved bool) (out []Item, err error) {
	err = s.eachItem(space, resolved, func(item Item) bool {
		if resolved || item.Pending() {
			out = append(out, item)
		}
		return true
	})
	return out, err
}

// Get returns an item by its id, or by a short one that only it answers to. Errors: memory.ErrNotFound,
// *memory.InvalidError for a short id of several.
func (s *Service) Get(space, id string) (Item, error) {
	var found []Item
	err := s.eachItem(space, true, func(item Item) bool {
		if memory.AnswersTo(item.Entry.ID, id) {
			found = append(found, item)
		}
		return item.Entry.ID != id
	})
	switch n := len(found); {
	case err != nil:
		return Item{}, err
	case n == 0:
		return Item{}, &memory.NotFoundError{Kind: "review item", Name: id}
	case n > 1 && found[n-1].Entry.ID != id:
		var check memory.Check
		check.Add("id", "AMBIGUOUS", "%d ids begin with %q", n, id)
		return Item{}, check.Err()
	default:
		return found[n-1], nil
	}
}

// ProposalsFor returns the proposals about target memories, decided or not, so that nobody is asked twice.
func (s *Service) ProposalsFor(space string, targets []string) (out []*guard.Proposal, err error) {
	if len(targets) == 0 {
		return nil, nil
	}
	err = s.eachItem(space, true, func(item Item) bool {
		if slices.Contains(targets, item.Target) {
			out = append(out, &item.Proposal)
		}
		return true
	})
	return out, err
}

// Pending counts the pending items of all spaces.
func (s *Service) Pending() (n int, err error) {
	for _, space := range s.store.Spaces() {
		for _, d := range s.store.Space(space).Days() {
			seen, err := s.scanLog(space, d, nil)
			if err != nil {
				return 0, err
			}
			n += seen.pending
		}
	}
	return n, nil
}

// eachItem calls f for the items of a space until it returns false. Logs that are known to have none are not read.
func (s *Service) eachItem(space string, resolved bool, f func(Item) bool) error {
	view := s.store.Space(space)
	for _, d := range view.Days() {
		if seen, ok := s.cachedDay(view.Name(), d); ok && (seen.items == 0 || !resolved && seen.pending == 0) {
			continue
		}
		more := true
		_, err := s.scanLog(view.Name(), d, func(item Item) {
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

// cachedDay returns the cached counts of a log; ok is false if the log changed since.
func (s *Service) cachedDay(space string, d *memory.Day) (dayCounts, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.store.LastPurge(); now != s.purge {
		clear(s.days)
		s.purge = now
	}
	seen, ok := s.days[dayKey{space, d.Date}]
	return seen, ok && seen.revision == d.Revision
}

// scanLog reads a log, calls f for its items and caches the counts. A cached log is not read if f is nil.
func (s *Service) scanLog(space string, d *memory.Day, f func(Item)) (dayCounts, error) {
	seen, ok := s.cachedDay(space, d)
	if ok && f == nil {
		return seen, nil
	}
	purge := s.store.LastPurge()
	header, entries, err := s.store.Space(space).Log(d.Date)
	if errors.Is(err, memory.ErrNotFound) { // deleted concurrently
		return dayCounts{}, nil
	}
	if err != nil {
		return dayCounts{}, fmt.Errorf("read the log of %s: %w", d.Date, err)
	}
	seen = dayCounts{revision: header.Revision}
	for _, e := range entries {
		p := guard.ProposalOf(e)
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

// Resolve applies or rejects an item and records the decision, in one operation; undoing it undoes both. Resolving an
// item again changes nothing, as its outcome says. If a guard that knows no exception rejects the item (forgotten
// value, text of another memory), the outcome has its reason and the item stays pending.
//
// Durable on return. Errors: memory.ErrNotFound, *memory.StaleError when the memory changed since the proposal,
// memory.ErrBusy, those of the store.
func (s *Service) Resolve(ctx context.Context, meta store.Meta, id string, decision Decision) (store.Result, error) {
	meta.Space = cmp.Or(meta.Space, memory.DefaultSpace)
	var check memory.Check
	check.Slug("space", meta.Space)
	check.ID("id", id)
	if decision != Accept && decision != Reject {
		check.Add("decision", "UNKNOWN_VALUE", "must be %q or %q", Accept, Reject)
	}
	check.Text("reason", meta.Reason, memory.MaxTitle, false)
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	meta.Actor, meta.Reason = journal.ActorClient, cmp.Or(meta.Reason, "review item "+string(decision))
	for i := range maxAttempts {
		if i > 0 {
			if err := s.waitDurable(ctx, meta.Space); err != nil {
				return store.Result{}, err
			}
		}
		item, err := s.Get(meta.Space, id)
		if err != nil {
			return store.Result{}, err
		}
		res, err := s.store.Update(ctx, meta, func(tx *store.Tx) error {
			if err := s.CheckUnchanged(tx, &item); err != nil {
				return err
			}
			return resolve(tx, &item, decision)
		})
		if stale, ok := errors.AsType[*memory.StaleError](err); !ok || stale.Kind != "log" {
			return res, err
		}
	}
	return store.Result{}, fmt.Errorf("resolve review item %s: gave up after %d conflicting concurrent changes: %w", id,
		maxAttempts, memory.ErrBusy)
}

// CheckUnchanged returns a *memory.StaleError when the log with an item changed since it was read. A transaction that
// changes entries of logs calls it for all their items before its first change.
func (s *Service) CheckUnchanged(tx *store.Tx, item *Item) error {
	if now := s.store.LastPurge(); now != item.purge { // a purge changes entries without a new revision
		return &memory.StaleError{Kind: "log", Name: item.Date, Expected: item.purge, Current: now}
	}
	return tx.CheckDayRevision(item.Date, item.revision)
}

// waitDurable waits until every staged operation is durable. Readers see durable state only, so without the wait the
// next attempt could read the old log again.
func (s *Service) waitDurable(ctx context.Context, space string) error {
	_, err := s.store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorClient}, func(*store.Tx) error {
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for concurrent changes: %w", err)
	}
	return nil
}

// resolve runs in the transaction of Resolve.
func resolve(tx *store.Tx, item *Item, decision Decision) error {
	outcome := journal.Outcome{ID: item.Entry.ID, Status: journal.Applied}
	switch {
	case item.State == string(decision):
		outcome.Status, outcome.Reason = journal.Duplicate, ReasonAlreadyResolved
	case item.State != "":
		outcome.Status, outcome.Reason = journal.Rejected, ReasonResolvedOtherwise
	case decision == Accept:
		target := tx.Memory(item.Target)
		if !item.matchesTarget(target) {
			return staleTarget(item, target)
		}
		var err error
		if outcome, err = guard.Accept(tx, item.item(target)); err != nil {
			return err
		}
	}
	tx.Report(outcome)
	if item.State != "" || outcome.Status == journal.Rejected {
		return nil
	}
	p := item.Proposal
	p.State, p.ResolvedAt = string(decision), tx.Now().Truncate(time.Second)
	after, err := guard.WithProposal(item.Entry, &p)
	if err != nil {
		return err
	}
	return tx.ChangeEntry(item.Date, item.Entry, after)
}

// staleTarget is the error for a target that no longer matches the proposal.
func staleTarget(item *Item, target *memory.Memory) error {
	stale := &memory.StaleError{Kind: "memory", Name: item.Target, Expected: item.Revision}
	if target != nil {
		stale.Current = target.Revision
	}
	return fmt.Errorf("the memory changed since the proposal; reject the proposal, or edit the memory yourself: %w",
		stale)
}
