package store

import (
	"context"
	"errors"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/process/background"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

const (
	// minSnapshotGrowth is how many bytes of journal make a snapshot worth its cost.
	minSnapshotGrowth     = 8 << 20
	snapshotCheckInterval = 5 * time.Second
	// snapshotRetryInterval is the pause after a snapshot or a compression failed.
	snapshotRetryInterval = time.Minute
	trimInterval          = time.Hour
	// stopSnapshot is how many bytes of spaces a stop writes into a snapshot. A stop has seconds, and the next start
	// reads from the journal what the snapshot lacks: no more than makes the next one due.
	stopSnapshot = 64 << 20
)

// Run maintains the store until ctx ends: it journals access counts, takes snapshots once the journal has grown by half
// the size of one, compresses old segments of the journal, and trims old history. Snapshots are written slowly while
// requests are answered. It returns nil when ctx ends.
func (s *Store) Run(ctx context.Context) error {
	touches, upkeep, trim := time.NewTicker(accessFlushInterval), time.NewTicker(snapshotCheckInterval),
		time.NewTicker(trimInterval)
	pace := background.Pace{Busy: s.busy, Urgent: s.snapshots.waiting.Urgent}
	defer touches.Stop()
	defer upkeep.Stop()
	defer trim.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-touches.C:
			err = s.FlushAccesses(ctx)
		case <-upkeep.C:
			upkeep.Reset(snapshotCheckInterval)
			err = s.journal.SyncHighWater()
			if s.Err() == nil && s.snapshotDue() {
				if _, err = s.checkpoint(ctx, pace); err != nil {
					upkeep.Reset(snapshotRetryInterval)
				}
			}
			if err == nil && s.Err() == nil {
				if _, err = s.compressJournal(); err != nil {
					upkeep.Reset(snapshotRetryInterval)
				}
			}
		case <-trim.C:
			err = s.Trim(ctx)
		}
		// A failure loses at most access counts. The next tick tries again.
		if err != nil && ctx.Err() == nil && !errors.Is(err, memory.ErrReadOnly) {
			s.log.Warn("maintenance of the store failed and will be retried", "err", err)
		}
	}
}

// snapshotDue reports whether the journal has grown enough since the last snapshot. The cost of snapshots is thereby
// proportional to what is written.
func (s *Store) snapshotDue() bool {
	info := s.Snapshot()
	s.snapshots.mu.Lock()
	since := s.journal.Stats().Bytes - s.snapshots.journal
	s.snapshots.mu.Unlock()
	return since > max(minSnapshotGrowth, info.Bytes/2)
}

// snapshotCost is about how many bytes, not compressed, a snapshot would write: what its spaces have in the newest one,
// and what was journaled since.
func (s *Store) snapshotCost() int64 {
	s.snapshots.mu.Lock()
	files, bytes := s.snapshots.current.Spaces, s.journal.Stats().Bytes-s.snapshots.journal
	s.snapshots.mu.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, f := range files {
		if sp := s.visible.spaces[f.Name]; sp != nil && sp.changed > f.LSN {
			bytes += f.Bytes
		}
	}
	return bytes
}

// compressJournal compresses one old segment of the journal, and reports whether there was one: one at a time, so that
// nobody waits for it. The snapshot includes what is in it, so that no start has to read it, and its manifest is one
// that a program refuses which cannot read compressed files.
func (s *Store) compressJournal() (bool, error) {
	s.snapshots.mu.Lock()
	m := s.snapshots.current
	s.snapshots.mu.Unlock()
	if m.MinReader < journal.CompressedMinor || !s.filesMu.TryLock() {
		return false, nil // when the files are being read, the next tick tries again
	}
	defer s.filesMu.Unlock()
	return s.journal.Compress(m.LSN)
}

// Trim removes history that is older than the configured days and not needed any more, unless the clock is not trusted.
// What it removes is included in the newest snapshot and in the previous one, so that either can be used after damage.
// Maintenance calls it every hour.
func (s *Store) Trim(ctx context.Context) error {
	now, warning, err := s.TrustedNow(ctx)
	if warning != "" || err != nil {
		return err
	}
	if !s.filesMu.TryLock() {
		return nil // the files are being read; the next tick tries again
	}
	defer s.filesMu.Unlock()
	previous, err := readManifest(s.fs, previousFile)
	if err != nil || previous.LSN == 0 {
		return err
	}
	// In a copy of the directory the previous manifest may be the newer one.
	lsn := min(previous.LSN, s.Snapshot().LSN)
	held := lsn
	if s.needed != nil {
		held = min(lsn, s.needed()-1)
	}
	removed, err := s.journal.Trim(now.AddDate(0, 0, -s.historyDays), held)
	if err == nil && held < lsn {
		var more int
		more, err = s.journal.Trim(now.AddDate(0, 0, -max(s.historyDays, MaxNeededDays)), lsn)
		removed += more
	}
	if removed > 0 {
		s.log.Info("trimmed old history", "segments", removed)
	}
	return err
}
