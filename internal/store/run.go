package store

import (
	"context"
	"errors"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	snapshotEvery = 8 << 20 // bytes of journal before a snapshot is worth while
	upkeepEvery   = 5 * time.Second
	retryEvery    = time.Minute // after a snapshot failed
	trimEvery     = time.Hour
)

// Run keeps the store in order until ctx ends: it journals accesses, takes snapshots when the journal has grown by half of what one
// would write, and trims old history. It returns nil when ctx ends.
func (s *Store) Run(ctx context.Context) error {
	touches, upkeep, trim := time.NewTicker(touchEvery), time.NewTicker(upkeepEvery), time.NewTicker(trimEvery)
	defer touches.Stop()
	defer upkeep.Stop()
	defer trim.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-touches.C:
			err = s.FlushTouches(ctx)
		case <-upkeep.C:
			upkeep.Reset(upkeepEvery)
			if s.Err() == nil && s.snapshotDue() {
				if _, err = s.Checkpoint(ctx); err != nil {
					upkeep.Reset(retryEvery)
				}
			}
		case <-trim.C:
			err = s.trim(ctx)
		}
		// None of this loses anything: what failed is tried again with the next tick.
		if err != nil && ctx.Err() == nil && !errors.Is(err, memory.ErrReadOnly) {
			s.log.Warn("upkeep of the store failed; it will be tried again", "err", err)
		}
	}
}

// snapshotDue reports whether the journal has grown enough since the last snapshot.
func (s *Store) snapshotDue() bool {
	info := s.Snapshot()
	s.snapshots.mu.Lock()
	since := s.journal.Figures().Bytes - s.snapshots.journal
	s.snapshots.mu.Unlock()
	return since > max(snapshotEvery, info.Bytes/2)
}

// trim removes history older than is kept, unless the clock is in doubt. What it removes is in the newest snapshot, and in the previous one.
func (s *Store) trim(ctx context.Context) error {
	now, doubt, err := s.TrustedNow(ctx)
	if doubt != "" || err != nil {
		return err
	}
	if !s.keep.TryLock() {
		return nil // somebody reads the files; the next time will do
	}
	defer s.keep.Unlock()
	previous, err := readManifest(s.fs, previousFile)
	if err != nil || previous.LSN == 0 {
		return err
	}
	// In a copy of the directory the previous manifest may be the newer one.
	lsn := min(previous.LSN, s.Snapshot().LSN)
	removed, err := s.journal.Trim(now.AddDate(0, 0, -s.historyDays), lsn)
	if removed > 0 {
		s.log.Info("trimmed old history", "segments", removed)
	}
	return err
}
