package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Repair moves damaged parts to the quarantine and keeps the rest. It returns what it did, one line each; nothing for a
// directory without damage. The caller holds the lock of the directory.
//
// A damaged snapshot is replaced by the previous one, or by the journal alone if that still begins at the first
// operation.
//
// If anything was damaged, the directory then has RepairingFile, and Open refuses it: published files may hold what the
// journal has lost, and must not be published over before it is recovered. The caller opens the store with
// Config.Repairing, takes it back (jsonstore.Salvage), and calls EndRepair. After a crash in between, all of it runs
// again.
func Repair(fsys durable.FS, now time.Time) ([]string, error) {
	if err := refuseIncomplete(fsys, RestoringFile); err != nil {
		return nil, err
	}
	m, err := readManifest(fsys, manifestFile)
	view := &Store{fs: fsys, visible: newVisible()}
	view.snapshots.bodyFiles = map[string][]string{}
	if err == nil {
		err = view.load(m)
	}
	if err == nil {
		// A snapshot reads its logs and transcripts only when they are needed; a repair must know about all of
		// them.
		err = view.readAll()
	}
	var done []string
	if _, corrupt := errors.AsType[*journal.CorruptError](err); corrupt {
		if err := beginRepair(fsys); err != nil {
			return nil, err
		}
		done, m, err = usePreviousSnapshot(fsys, now, err)
	}
	if err != nil {
		return done, err
	}
	proofs, err := collectProofs(fsys)
	if err != nil {
		return done, err
	}
	damage, err := journal.Check(fsys, m.Store, m.LSN, proofs...)
	if err != nil || len(damage) == 0 {
		return done, err
	}
	if err := beginRepair(fsys); err != nil {
		return done, err
	}
	repaired, err := journal.Repair(fsys, m.Store, m.LSN, now, proofs...)
	return append(done, repaired...), err
}

// readAll reads every file of the snapshot, to find damage.
func (s *Store) readAll() error {
	_, err := s.Digest()
	return err
}

// usePreviousSnapshot replaces the damaged newest snapshot by the previous one, or by none. damage is why.
func usePreviousSnapshot(fsys durable.FS, now time.Time, damage error) ([]string, manifest, error) {
	previous, err := readManifest(fsys, previousFile)
	view := &Store{fs: fsys, visible: newVisible()}
	view.snapshots.bodyFiles = map[string][]string{}
	if err == nil {
		err = errors.Join(view.load(previous), view.readAll())
	}
	remove := []string{manifestFile}
	if _, corrupt := errors.AsType[*journal.CorruptError](err); corrupt {
		// Both snapshots are damaged. The journal alone will do if it reaches back to the beginning, which is
		// checked next.
		previous, err, remove = manifest{}, nil, append(remove, previousFile)
	}
	if err == nil && previous.LSN == 0 {
		var first int64
		if first, err = journal.FirstKept(fsys); err == nil && first > 1 {
			err = fmt.Errorf("%w; there is no earlier snapshot that is whole, and the journal begins only at "+
				"operation %d", damage, first)
		}
	}
	if err != nil {
		return nil, manifest{}, fmt.Errorf("repair: the newest snapshot is damaged and cannot be replaced: %w", err)
	}
	// A copy first: a person may get more out of the damaged file than this program.
	if err := journal.Quarantine(fsys, manifestFile, now); err != nil {
		return nil, manifest{}, err
	}
	if previous.LSN == 0 {
		for _, name := range remove {
			if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, manifest{}, fmt.Errorf("repair: %w", err)
			}
		}
		return []string{"no snapshot was usable; the whole state is read from the journal"}, previous,
			fsys.SyncDir(snapshotDir)
	}
	err = durable.WriteFile(fsys, manifestFile, func(w io.Writer) error {
		line, err := durable.AppendLine(nil, previous)
		if err == nil {
			_, err = w.Write(line)
		}
		return err
	})
	return []string{fmt.Sprintf("the snapshot was damaged; the previous one, of operation %d, took its place",
		previous.LSN)}, previous, err
}
