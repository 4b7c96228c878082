package store

import (
	"context"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Drop takes a space out of the store with everything in it: memories, daily logs, sessions, receipts. It is for a
// space that is kept elsewhere. Unless changed is the LSN of its newest record, or when accesses of it are not
// journaled yet, nothing happens and the error is memory.ErrStale: the caller has not seen everything. History of
// before is not told any more (see StateAt), and stays in the journal until it is trimmed.
//
// Durable on return. Errors: those of Update.
func (s *Store) Drop(ctx context.Context, space string, changed int64) error {
	var check memory.Check
	check.Slug("space", space)
	if err := check.Err(); err != nil {
		return err
	}
	if err := s.Err(); err != nil {
		return err
	}
	rec, ticket, err := s.stageDrop(space, changed)
	if err != nil {
		return err
	}
	if err := ticket.WaitDurable(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	s.stageMu.Lock()
	defer s.stageMu.Unlock()
	if sp := s.staged.spaces[space]; sp != nil && sp.changed == rec.Last() {
		delete(s.staged.spaces, space) // it equals the visible state again, which has none
	}
	return nil
}

// stageDrop stages the record of a drop.
func (s *Store) stageDrop(space string, changed int64) (*journal.Record, journal.Ticket, error) {
	s.stageMu.Lock()
	defer s.stageMu.Unlock()
	s.accessMu.Lock()
	counted := len(s.accesses[space]) > 0
	s.accessMu.Unlock()
	sp, err := s.stagedSpace(space)
	if err != nil {
		return nil, journal.Ticket{}, err
	}
	if counted || sp.changed != changed {
		return nil, journal.Ticket{}, &memory.StaleError{Kind: "space", Name: space}
	}
	rec := &journal.Record{At: s.now().UTC().Truncate(time.Microsecond), Space: space, Actor: journal.ActorShare,
		Reason: "dropped: the shared log has it", Changes: []journal.Change{{Drop: &journal.DropChange{}}}}
	ticket, err := s.journal.Stage(rec, true)
	if err == nil {
		s.staged.apply(rec)
	}
	return rec, ticket, err
}

// isDrop reports whether a record drops its space.
func isDrop(rec *journal.Record) bool { return len(rec.Changes) == 1 && rec.Changes[0].Drop != nil }

// drop applies the record of a drop. In the staged state an empty space stays in its place until the record is durable:
// without it a transaction would find what is still visible.
func (st *state) drop(rec *journal.Record) {
	st.dropped = rec.Last()
	if st.bodies {
		delete(st.spaces, rec.Space)
		if rec.Space == memory.DefaultSpace { // it is always there
			st.spaces[rec.Space] = st.newSpace(rec.Space)
		}
		return
	}
	sp := st.newSpace(rec.Space)
	sp.changed = rec.Last()
	st.spaces[rec.Space] = sp
}

// newestDrop is the newest record that dropped a space, or a later one.
func (s *Store) newestDrop() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.visible.dropped
}

// newest is the newest record that the state has.
func (st *state) newest() int64 {
	lsn := st.dropped
	for _, sp := range st.spaces {
		lsn = max(lsn, sp.changed)
	}
	return lsn
}

// removals is the record of a drop for the projections: the same, with what goes of the space. Only memory knows it, so
// that a drop is short in the journal. The caller holds the lock of the visible state.
func (st *state) removals(rec *journal.Record) *journal.Record {
	sp := st.spaces[rec.Space]
	if sp == nil {
		return rec
	}
	told := *rec
	told.Changes = slices.Clone(rec.Changes)
	for _, m := range sp.memories() {
		told.Changes = append(told.Changes, journal.Change{Memory: &journal.MemoryChange{ID: m.ID, Before: m}})
	}
	for _, d := range sp.dayHeaders() {
		told.Changes = append(told.Changes, journal.Change{Day: &journal.DayChange{Date: d.Date, Before: d}})
	}
	return &told
}
