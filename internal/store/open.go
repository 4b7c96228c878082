package store

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"strings"
	"sync"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Open loads the newest snapshot, replays what the journal holds behind it and returns the store ready for use. The caller holds the
// lock of the directory, and runs Run.
//
// Errors: *journal.CorruptError (a memory.ErrCorrupt) when acknowledged data is damaged, memory.ErrNewerVersion.
func Open(cfg Config) (*Store, error) {
	s := &Store{
		fs: cfg.FS, now: cfg.Now, log: cfg.Logger, projections: cfg.Projections, historyDays: cfg.HistoryDays,
		visible: newState(true), staged: newState(false), touches: map[string]map[string]touch{},
	}
	if s.historyDays == 0 {
		s.historyDays = DefaultHistoryDays
	}
	s.clock = newClock(cfg.Now, cfg.Elapsed)
	s.snapshots.docFiles = map[string][]string{}
	if err := refuseIncomplete(cfg.FS); err != nil {
		return nil, err
	}
	m, err := readManifest(cfg.FS, manifestFile)
	if err != nil {
		return nil, err
	}
	in, err := readIntent(cfg.FS)
	if err != nil {
		return nil, err
	}
	if in != nil {
		// Another process may have died between the rename and the sync; nothing may be erased before this is sure to be here again.
		if err := cfg.FS.SyncDir("."); err != nil {
			return nil, fmt.Errorf("resume purge: %w", err)
		}
		s.scrubber = newScrubber(in)
	}
	if err := s.load(m); err != nil {
		return nil, err
	}
	s.snapshots.current = m
	s.journal, err = journal.Open(journal.Config{
		FS: cfg.FS, Logger: cfg.Logger, Origin: m.Store, Fresh: strings.ToLower(rand.Text()[:12]), After: m.LSN, SegmentSize: cfg.SegmentSize,
		Replay: func(rec *journal.Record) error {
			s.scrubOld(rec)
			for i := range rec.Changes {
				if c := rec.Changes[i].Memory; c != nil && c.After != nil {
					s.interned.memory(c.After)
				}
			}
			s.visible.apply(rec)
			s.staged.apply(rec)
			return nil
		},
		Durable: s.applyDurable, Failed: cfg.Failed,
	})
	if err != nil {
		return nil, err
	}
	if in != nil {
		if err := s.resume(in); err != nil {
			return nil, errors.Join(err, s.journal.Abandon())
		}
	}
	return s, nil
}

// scrubOld cleans a record from before a purge that is not finished.
func (s *Store) scrubOld(rec *journal.Record) {
	if s.scrubber != nil && rec.Op < s.scrubber.op {
		s.scrubber.record(rec)
	}
}

// readManifest returns the zero manifest when there is none.
func readManifest(fsys durable.FS, name string) (manifest, error) {
	raw, err := durable.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return manifest{}, nil
	}
	if err != nil {
		return manifest{}, fmt.Errorf("read %s: %w", name, err)
	}
	line := bytes.TrimSuffix(raw, []byte("\n"))
	if !durable.LineGood(line) {
		return manifest{}, &journal.CorruptError{File: name, Line: 1, Detail: "its checksum does not match"}
	}
	var m manifest
	if err := json.Unmarshal(line, &m); err != nil {
		return manifest{}, &journal.CorruptError{File: name, Line: 1, Detail: err.Error()}
	}
	if m.Version > snapshotVersion {
		return manifest{}, fmt.Errorf("%s has format %d, this memsidecar knows %d: %w", name, m.Version, snapshotVersion, memory.ErrNewerVersion)
	}
	return m, nil
}

// load brings both states to the snapshot.
func (s *Store) load(m manifest) error {
	if err := s.loadSpaces(m); err != nil {
		return err
	}
	return s.checkDocs()
}

func (s *Store) loadSpaces(m manifest) error {
	for _, f := range m.Spaces {
		header, memories, err := readSpaceFile(s.fs, f.File)
		if err != nil {
			return err
		}
		for _, m := range memories {
			s.interned.memory(m)
		}
		s.visible.spaces[f.Name] = s.visible.restore(header, memories)
		s.staged.spaces[f.Name] = s.staged.restore(header, memories)
		if s.scrubber != nil && f.LSN < s.scrubber.op {
			for _, st := range []*state{s.visible, s.staged} {
				sp := st.spaces[f.Name]
				sp.swap(sp.scrub(s.scrubber, map[*memory.Memory]*memory.Memory{}))
			}
		}
		for _, d := range header.Days {
			s.snapshots.docFiles[f.File] = append(s.snapshots.docFiles[f.File], d.File)
		}
		for _, d := range header.Sessions {
			s.snapshots.docFiles[f.File] = append(s.snapshots.docFiles[f.File], d.File)
		}
	}
	return nil
}

// restore makes a space from what a snapshot holds of it. The memories are shared between states, the maps are not.
func (st *state) restore(h *spaceHeader, memories []*memory.Memory) *spaceState {
	sp := st.newSpace(h.Space)
	sp.slots = append(make([]*memory.Memory, 0, len(memories)+len(memories)/8+16), memories...)
	sp.byID = make(map[string]int32, len(memories))
	for i, m := range memories {
		sp.byID[m.ID] = int32(i)
		if sp.equal != nil && m.IsActive() {
			sp.equal[sp.hash(m.Category, m.Content)] = int32(i)
		}
	}
	sp.summary, sp.revision, sp.changed = h.Summary, h.Revision, h.Changed
	maps.Copy(sp.forgotten, h.Forgotten)
	maps.Copy(sp.removed, h.Removed)
	for _, r := range h.Receipts {
		sp.receipts[r.Key] = r
	}
	for _, d := range h.Days {
		sp.days[d.Header.Date] = &day{header: d.Header, doc: doc{file: d.File, items: d.Items, bytes: d.Bytes}}
	}
	sp.archiveRevision = h.ArchiveRevision
	for _, r := range h.Archive {
		sp.archive[r.ID] = r
	}
	for _, se := range h.Sessions {
		sp.sessions[se.Header.ID] = &session{header: se.Header, doc: doc{file: se.File, items: se.Items, bytes: se.Bytes}}
	}
	return sp
}

func readSpaceFile(fsys durable.FS, name string) (*spaceHeader, []*memory.Memory, error) {
	header := new(spaceHeader)
	lines, err := readLines(fsys, name, header, func() int { return header.Memories })
	if err != nil {
		return nil, nil, err
	}
	if header.Version > snapshotVersion {
		return nil, nil, fmt.Errorf("%s has format %d: %w", name, header.Version, memory.ErrNewerVersion)
	}
	memories, err := decodeLines[memory.Memory](name, lines)
	return header, memories, err
}

// readDocFile reads the body of a daily log or session; items is the number the space's header promised.
func readDocFile[T any](fsys durable.FS, name string, items int) ([]T, error) {
	header := new(docHeader)
	lines, err := readLines(fsys, name, header, func() int { return items })
	if err != nil {
		return nil, err
	}
	out := make([]T, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal(line, &out[i]); err != nil {
			return nil, &journal.CorruptError{File: snapshotDir + "/" + name, Line: i + 2, Detail: err.Error()}
		}
	}
	return out, nil
}

// readLines returns the lines behind the header, each with a good CRC.
func readLines(fsys durable.FS, name string, header any, count func() int) ([][]byte, error) {
	name = path.Join(snapshotDir, name)
	data, err := durable.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (%w)", &journal.CorruptError{File: name, Detail: "it is missing"}, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	for i, line := range lines {
		if !durable.LineGood(line) {
			return nil, &journal.CorruptError{File: name, Line: i + 1, Detail: "its checksum does not match"}
		}
	}
	if err := json.Unmarshal(lines[0], header); err != nil {
		return nil, &journal.CorruptError{File: name, Line: 1, Detail: err.Error()}
	}
	if len(lines)-1 != count() {
		return nil, &journal.CorruptError{File: name, Detail: fmt.Sprintf("it holds %d items, not %d", len(lines)-1, count())}
	}
	return lines[1:], nil
}

// decodeLines decodes in parallel: this is most of the time a start takes.
func decodeLines[T any](name string, lines [][]byte) ([]*T, error) {
	out := make([]*T, len(lines))
	workers := min(runtime.GOMAXPROCS(0), len(lines)/1024+1)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w * len(lines) / workers; i < (w+1)*len(lines)/workers; i++ {
				out[i] = new(T)
				if err := json.Unmarshal(lines[i], out[i]); err != nil {
					errs[w] = &journal.CorruptError{File: snapshotDir + "/" + name, Line: i + 2, Detail: err.Error()}
					return
				}
			}
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

func makeDir(fsys durable.FS, name string) error {
	if err := fsys.MkdirAll(name); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	if err := fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	return nil
}
