package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// accessFlushInterval bounds how many seconds of access counts a crash can lose. Journaling each access at once would
// cost a sync for every read.
const accessFlushInterval = 2 * time.Second

// accessCount is the accesses of one memory since they were last journaled. at is the newest.
type accessCount struct {
	count int64
	at    time.Time
}

// CountAccess counts one access of each id at the time at. It returns at once. Counts are journaled in batches by Run,
// so a crash may lose those of the last few seconds. In a space that is only received nothing is counted: its counts
// are those of the log.
func (s *Store) CountAccess(space string, ids []string, at time.Time) {
	if s.Writable(space) != nil {
		return
	}
	s.accessMu.Lock()
	defer s.accessMu.Unlock()
	if s.accesses[space] == nil {
		s.accesses[space] = map[string]accessCount{}
	}
	for _, id := range ids {
		t := s.accesses[space][id]
		t.count++
		if at.After(t.at) {
			t.at = at
		}
		s.accesses[space][id] = t
	}
}

// SettleAccesses journals what was counted for any of these memories, so that a read behind it sees it. It does nothing
// when nothing was. Durable on return.
func (s *Store) SettleAccesses(ctx context.Context, space string, ids []string) error {
	s.flushMu.Lock() // what a flush has taken is not visible before its end
	s.accessMu.Lock()
	counted := slices.ContainsFunc(ids, func(id string) bool { return s.accesses[space][id].count > 0 })
	s.accessMu.Unlock()
	s.flushMu.Unlock()
	if !counted {
		return nil
	}
	return s.FlushAccesses(ctx)
}

// maxAccessesPerOperation bounds one operation of accesses: readers wait while it is applied.
const maxAccessesPerOperation = 256

// FlushAccesses journals the collected accesses, in operations of at most 256. Counts whose operation fails are lost.
// Durable on return.
func (s *Store) FlushAccesses(ctx context.Context) error {
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	s.accessMu.Lock()
	taken := s.accesses
	s.accesses = map[string]map[string]accessCount{}
	s.accessMu.Unlock()
	var errs []error
	for space, touches := range taken {
		ids := slices.Sorted(maps.Keys(touches))
		for some := range slices.Chunk(ids, maxAccessesPerOperation) {
			if err := s.journalAccesses(ctx, space, some, touches); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return joinErrors("journal accesses", errs)
}

// journalAccesses journals the accesses of ids as one operation. It skips memories that are gone.
func (s *Store) journalAccesses(ctx context.Context, space string, ids []string, touches map[string]accessCount) error {
	_, err := s.Update(unnoted(ctx), Meta{Space: space, Actor: journal.ActorDaemon, Reason: "accesses"}, func(tx *Tx) error {
		if tx.ReadOnly() { // since they were counted
			return nil
		}
		for _, id := range ids {
			if m := tx.Memory(id); m != nil {
				change := &journal.AccessChange{ID: id, Count: touches[id].count, At: touches[id].at.UTC()}
				change.Before, change.After = m, change.Apply(m)
				tx.changes = append(tx.changes, journal.Change{Access: change})
			}
		}
		return nil
	})
	return err
}

// joinErrors joins errors under a common prefix; nil for none.
func joinErrors(what string, errs []error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
