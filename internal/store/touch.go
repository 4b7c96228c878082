package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
)

const touchEvery = 2 * time.Second

// touch is what is known of a memory's accesses since they were journaled last.
type touch struct {
	count int64
	at    time.Time
}

// Touch counts one access of each id. It returns at once; counts are journaled in batches, so
// the newest few seconds of them may be lost in a crash.
func (s *Store) Touch(space string, ids []string, at time.Time) {
	s.touchMu.Lock()
	defer s.touchMu.Unlock()
	if s.touches[space] == nil {
		s.touches[space] = map[string]touch{}
	}
	for _, id := range ids {
		t := s.touches[space][id]
		t.count++
		if at.After(t.at) {
			t.at = at
		}
		s.touches[space][id] = t
	}
}

// mostTouches are journaled with one operation: readers wait while they are applied, and need not wait long.
const mostTouches = 256

// FlushTouches journals the collected accesses, in operations of at most 256. Durable on return.
func (s *Store) FlushTouches(ctx context.Context) error {
	s.touchMu.Lock()
	taken := s.touches
	s.touches = map[string]map[string]touch{}
	s.touchMu.Unlock()
	var errs []error
	for space, touches := range taken {
		ids := slices.Sorted(maps.Keys(touches))
		for some := range slices.Chunk(ids, mostTouches) {
			if err := s.journalTouches(ctx, space, some, touches); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return joinErrors("journal accesses", errs)
}

func (s *Store) journalTouches(ctx context.Context, space string, ids []string, touches map[string]touch) error {
	_, err := s.Update(ctx, Meta{Space: space, Actor: journal.ActorDaemon, Reason: "accesses"}, func(tx *Tx) error {
		for _, id := range ids {
			if m := tx.Memory(id); m != nil {
				change := &journal.TouchChange{ID: id, Count: touches[id].count, At: touches[id].at.UTC()}
				change.Before, change.After = m, change.Of(m)
				tx.changes = append(tx.changes, journal.Change{Touch: change})
			}
		}
		return nil
	})
	return err
}

func joinErrors(what string, errs []error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
