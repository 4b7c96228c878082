package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// PinnedFiles are the files from which the state of a ReadView can be restored: the newest snapshot, and the journal up
// to the view's LSN.
type PinnedFiles struct {
	Manifest []byte // contents of snapshots/MANIFEST.json; empty when there is no snapshot yet
	// Snapshot names the files of the snapshot, relative to the data directory.
	Snapshot    []string
	Journal     []journal.Extent // segments, oldest first
	Oldest      int64            // LSN at which the journal begins
	SnapshotLSN int64            // LSN of the snapshot
}

// PinFiles takes a snapshot and returns a ReadView with the files for it. The files stay until the view is closed. If
// no snapshot can be written, on a full disk for example, it uses an older one and more of the journal.
//
// Errors: memory.ErrUnfinished while the files still hold what a purge erases.
func (s *Store) PinFiles(ctx context.Context) (*ReadView, *PinnedFiles, error) {
	s.filesMu.RLock()
	if pending, _ := s.PendingPurge(); pending != nil {
		s.filesMu.RUnlock()
		return nil, nil, fmt.Errorf("the files still hold what was purged: %w", memory.ErrUnfinished)
	}
	if _, err := s.Checkpoint(ctx); err != nil {
		if ctx.Err() != nil {
			s.filesMu.RUnlock()
			return nil, nil, err
		}
		s.log.Warn("could not write a snapshot for the backup; using an older one", "err", err)
	}
	// No snapshot is being replaced while its files are listed.
	s.snapshots.lock()
	s.snapshots.mu.Lock()
	m := s.snapshots.current
	s.snapshots.mu.Unlock()
	var files PinnedFiles
	for _, sp := range m.Spaces {
		files.Snapshot = append(files.Snapshot, snapshotDir+"/"+sp.File)
		for _, name := range s.snapshots.bodyFiles[sp.File] {
			if name != "" {
				files.Snapshot = append(files.Snapshot, snapshotDir+"/"+name)
			}
		}
	}
	s.snapshots.writing.Unlock()

	// Frozen after the snapshot: what happened in between is in the journal, which is copied up to lsn.
	frozen, lsn := s.freeze()
	v := &ReadView{LSN: lsn, Origin: s.Origin(), Epoch: s.Epoch(), frozen: frozen, release: s.filesMu.RUnlock}
	err := s.completePinnedFiles(&files, m, lsn)
	if err != nil {
		v.Close()
		return nil, nil, fmt.Errorf("pin the files: %w", err)
	}
	return v, &files, nil
}

// completePinnedFiles adds the manifest and the journal's segments, and checks that snapshot and journal join without a
// gap.
func (s *Store) completePinnedFiles(files *PinnedFiles, m manifest, lsn int64) (err error) {
	slices.Sort(files.Snapshot)
	files.Snapshot = slices.Compact(files.Snapshot)
	files.SnapshotLSN, files.Oldest = m.LSN, s.journal.First()
	if m.LSN > 0 {
		if files.Manifest, err = durable.AppendLine(nil, m); err != nil {
			return err
		}
	}
	if files.Journal, err = s.journal.Extents(lsn); err != nil {
		return err
	}
	if len(files.Journal) == 0 && m.LSN < lsn || files.Oldest > m.LSN+1 {
		return fmt.Errorf("the journal does not reach from %d to %d: %w", m.LSN, lsn, memory.ErrCorrupt)
	}
	return nil
}
