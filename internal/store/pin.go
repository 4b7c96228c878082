package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// View is the durable state at one LSN. Writes go on beside it; the files it rests on stay until Close. It is safe for concurrent use.
type View struct {
	LSN           int64
	Origin, Epoch string

	frozen  *Store // of which only what reads is used
	release func()
}

// View freezes the state as it is now. The caller closes it soon: old files pile up until then.
func (s *Store) View() *View {
	s.keep.RLock()
	frozen, lsn := s.freeze()
	return &View{LSN: lsn, Origin: s.Origin(), Epoch: s.Epoch(), frozen: frozen, release: s.keep.RUnlock}
}

// Close lets the files go. It must be called once.
func (v *View) Close() { v.release() }

// Spaces lists the names of all spaces, sorted.
func (v *View) Spaces() []string { return v.frozen.Spaces() }

// Space returns a reader of one space as it was. An unknown space reads as empty.
func (v *View) Space(name string) *Space { return v.frozen.Space(name) }

// Digest is Store.Digest of the state as it was.
func (v *View) Digest() (string, error) { return v.frozen.Digest() }

// freeze copies what changes of the visible state: the maps and lists, not what they hold.
func (s *Store) freeze() (frozen *Store, lsn int64) {
	st := &state{spaces: map[string]*spaceState{}, docs: true}
	s.mu.RLock()
	for name, sp := range s.visible.spaces {
		lsn = max(lsn, sp.changed)
		c := *sp
		c.slots, c.byID = slices.Clone(sp.slots), nil
		c.forgotten, c.removed, c.receipts, c.archive = maps.Clone(sp.forgotten), nil, nil, maps.Clone(sp.archive)
		c.days, c.sessions = make(map[string]*day, len(sp.days)), make(map[string]*session, len(sp.sessions))
		for date, d := range sp.days {
			c.days[date] = &day{header: d.header, doc: d.doc.fixed()}
		}
		for id, se := range sp.sessions {
			c.sessions[id] = &session{header: se.header, doc: se.doc.fixed()}
		}
		st.spaces[name] = &c
	}
	s.mu.RUnlock()
	for _, sp := range st.spaces { // no longer under the lock, which holds up every write
		sp.byID = make(map[string]int32, len(sp.slots))
		for i, m := range sp.slots {
			if m != nil {
				sp.byID[m.ID] = int32(i)
			}
		}
	}
	return &Store{fs: s.fs, visible: st}, lsn
}

// fixed is the doc as it is now: what is appended later does not show.
func (d doc) fixed() doc {
	d.tail = d.tail[:len(d.tail):len(d.tail)]
	return d
}

// Files are what the state of a View rests on: the newest snapshot and the journal up to the View's LSN.
type Files struct {
	Manifest  []byte           // contents of snapshots/MANIFEST.json; empty when there is no snapshot yet
	Snapshot  []string         // names of the files that it names, relative to the data directory, and theirs
	Journal   []journal.Extent // segments, oldest first
	Oldest    int64            // LSN at which the journal begins
	Snapshots int64            // LSN of the snapshot
}

// Pin takes a snapshot and a View behind it, and returns both with the files. A snapshot that cannot be written, on a full disk say, is no error:
// an older one and more of the journal do as well.
func (s *Store) Pin(ctx context.Context) (*View, *Files, error) {
	s.keep.RLock()
	if pending, _ := s.PendingPurge(); pending != nil {
		s.keep.RUnlock()
		return nil, nil, fmt.Errorf("the files still hold what was purged: %w", memory.ErrUnfinished)
	}
	if _, err := s.Checkpoint(ctx); err != nil {
		if ctx.Err() != nil {
			s.keep.RUnlock()
			return nil, nil, err
		}
		s.log.Warn("no new snapshot could be written; an older one is used", "err", err)
	}
	s.snapshots.writing.Lock()
	s.snapshots.mu.Lock()
	m := s.snapshots.current
	s.snapshots.mu.Unlock()
	var files Files
	for _, sp := range m.Spaces {
		files.Snapshot = append(files.Snapshot, snapshotDir+"/"+sp.File)
		for _, name := range s.snapshots.docFiles[sp.File] {
			if name != "" {
				files.Snapshot = append(files.Snapshot, snapshotDir+"/"+name)
			}
		}
	}
	s.snapshots.writing.Unlock()

	frozen, lsn := s.freeze()
	v := &View{LSN: lsn, Origin: s.Origin(), Epoch: s.Epoch(), frozen: frozen, release: s.keep.RUnlock}
	err := s.completeFiles(&files, m, lsn)
	if err != nil {
		v.Close()
		return nil, nil, fmt.Errorf("pin the files: %w", err)
	}
	return v, &files, nil
}

func (s *Store) completeFiles(files *Files, m manifest, lsn int64) (err error) {
	slices.Sort(files.Snapshot)
	files.Snapshot = slices.Compact(files.Snapshot)
	files.Snapshots, files.Oldest = m.LSN, s.journal.First()
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
