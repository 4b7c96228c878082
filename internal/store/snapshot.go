package store

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	snapshotVersion = 1
	snapshotDir     = "snapshots"
	manifestFile    = snapshotDir + "/MANIFEST.json"
	previousFile    = snapshotDir + "/MANIFEST.prev.json"
)

// manifest names the files of a snapshot. It is one line with a CRC.
type manifest struct {
	Version int           `json:"version"`
	Store   string        `json:"store"`
	LSN     int64         `json:"lsn"` // everything up to here is in the files
	At      time.Time     `json:"at"`
	Spaces  []spaceInFile `json:"spaces"`
}

// spaceInFile is a space in the manifest.
type spaceInFile struct {
	Name  string `json:"name"`
	File  string `json:"file"`
	LSN   int64  `json:"lsn"` // newest record of the space in the file
	Bytes int64  `json:"bytes"`
}

// spaceHeader is the first line of a space's file; the memories follow, one line each in order of creation.
type spaceHeader struct {
	Version   int                  `json:"version"`
	Space     string               `json:"space"`
	Revision  int64                `json:"revision"`
	Changed   int64                `json:"changed"`
	Memories  int                  `json:"memories"`
	Summary   string               `json:"summary,omitempty"`
	Forgotten map[string]time.Time `json:"forgotten,omitempty"`
	Removed   map[string]int64     `json:"removed,omitempty"`
	Receipts  []receipt            `json:"receipts,omitempty"`
	Days      []dayInFile          `json:"days,omitempty"`
	Archive   []*memory.Archived   `json:"archive,omitempty"`
	// ArchiveRevision is the newest operation that changed Archive.
	ArchiveRevision int64           `json:"archive_revision,omitempty"`
	Sessions        []sessionInFile `json:"sessions,omitempty"`
}

type docInFile struct {
	File  string `json:"file,omitempty"`
	Items int    `json:"items,omitempty"`
	Bytes int64  `json:"bytes,omitempty"` // length of File; 0 in snapshots of before it was noted
}

type dayInFile struct {
	Header *memory.Day `json:"header"`
	docInFile
}

type sessionInFile struct {
	Header *memory.Session `json:"header"`
	docInFile
}

// docHeader is the first line of the file of a daily log or session; the entries or messages follow, one line each.
type docHeader struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	Items   int    `json:"items"`
}

// snapshots is what the store knows of its snapshots.
type snapshots struct {
	writing  sync.Mutex // held while one is written; guards docFiles and failures
	docFiles map[string][]string
	failures int // since the newest one

	mu      sync.Mutex
	current manifest // guarded by mu
	journal int64    // bytes of journal appended when it was taken; guarded by mu
	took    time.Duration
}

func (sn *snapshots) stale(lsn int64) bool {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	return sn.current.LSN < lsn
}

// SnapshotInfo describes the newest snapshot.
type SnapshotInfo struct {
	LSN   int64
	At    time.Time
	Bytes int64         // of the spaces' files
	Took  time.Duration // to write; 0 when it was loaded
}

// Snapshot describes the newest snapshot; the zero value when there is none.
func (s *Store) Snapshot() SnapshotInfo {
	s.snapshots.mu.Lock()
	defer s.snapshots.mu.Unlock()
	info := SnapshotInfo{LSN: s.snapshots.current.LSN, At: s.snapshots.current.At, Took: s.snapshots.took}
	for _, sp := range s.snapshots.current.Spaces {
		info.Bytes += sp.Bytes
	}
	return info
}

// Checkpoint writes a snapshot of everything durable and returns the LSN it includes. Durable on return.
func (s *Store) Checkpoint(ctx context.Context) (int64, error) {
	s.snapshots.writing.Lock()
	defer s.snapshots.writing.Unlock()
	start := s.now()
	s.snapshots.mu.Lock()
	old := s.snapshots.current
	s.snapshots.mu.Unlock()

	if err := makeDir(s.fs, snapshotDir); err != nil {
		return 0, err
	}
	journalBytes := s.journal.Figures().Bytes
	// No file that a manifest on disk may name is ever written again, not even that of an attempt whose last sync failed.
	lsn, changed := s.capture(old, s.snapshots.failures)
	if lsn == old.LSN {
		return lsn, nil
	}
	s.snapshots.failures++
	next := manifest{Version: snapshotVersion, Store: s.journal.Origin(), LSN: lsn, At: start.UTC()}
	for _, f := range old.Spaces {
		if !slices.ContainsFunc(changed, func(c *captured) bool { return c.header.Space == f.Name }) {
			next.Spaces = append(next.Spaces, f)
		}
	}
	for _, c := range changed {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		f, err := s.writeSpace(c)
		if err != nil {
			return 0, fmt.Errorf("snapshot of space %s: %w", c.header.Space, err)
		}
		next.Spaces = append(next.Spaces, f)
	}
	slices.SortFunc(next.Spaces, func(a, b spaceInFile) int { return strings.Compare(a.Name, b.Name) })
	if err := s.fs.SyncDir(snapshotDir); err != nil {
		return 0, fmt.Errorf("snapshot: %w", err)
	}
	if err := writeManifest(s.fs, next); err != nil {
		return 0, fmt.Errorf("snapshot: %w", err)
	}
	s.adopt(next, changed, journalBytes, s.now().Sub(start))
	s.removeUnnamed(old, next)
	s.snapshots.failures = 0
	return lsn, nil
}

// writeSpace writes the files of one captured space.
func (s *Store) writeSpace(c *captured) (spaceInFile, error) {
	written := map[string]docInFile{} // by the name that was planned
	for _, p := range c.docs {
		planned := p.file
		if err := p.write(s.fs, p); err != nil {
			return spaceInFile{}, fmt.Errorf("%s: %w", p.name, err)
		}
		info, err := s.fs.Lstat(snapshotDir + "/" + p.file)
		if err != nil {
			return spaceInFile{}, err
		}
		p.bytes = info.Size()
		written[planned] = docInFile{File: p.file, Items: p.items, Bytes: p.bytes}
	}
	for i, d := range c.header.Days {
		if d.Items < 0 {
			c.header.Days[i].docInFile = written[d.File]
		}
	}
	for i, d := range c.header.Sessions {
		if d.Items < 0 {
			c.header.Sessions[i].docInFile = written[d.File]
		}
	}
	f := spaceInFile{Name: c.header.Space, LSN: c.header.Changed, File: c.file}
	lines := make([]journal.MemoryLine, len(c.memories))
	for i, m := range c.memories {
		lines[i] = journal.MemoryLine{Memory: m}
	}
	if err := writeLines(s.fs, f.File, c.header, lines); err != nil {
		return f, err
	}
	info, err := s.fs.Lstat(snapshotDir + "/" + f.File)
	if err != nil {
		return f, err
	}
	f.Bytes = info.Size()
	return f, nil
}

// writeLines writes a synced file of a header line and one line an item. The directory is not synced.
func writeLines[T any](fsys durable.FS, name string, header any, items []T) (err error) {
	// A snapshot that a crash or an error cut short may have left a file of this name.
	f, err := fsys.OpenFile(snapshotDir+"/"+name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 256<<10)
	line, err := durable.AppendLine(nil, header)
	if err != nil {
		return err
	}
	if _, err := w.Write(line); err != nil {
		return err
	}
	for _, item := range items {
		if line, err = durable.AppendLine(line[:0], item); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

// writeManifest commits a snapshot; the manifest before stays as the previous one.
func writeManifest(fsys durable.FS, m manifest) error {
	line, err := durable.AppendLine(nil, m)
	if err != nil {
		return err
	}
	const linked = previousFile + ".new"
	if err := fsys.Remove(linked); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fsys.Link(manifestFile, linked); err == nil {
		err = fsys.Rename(linked, previousFile)
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.WriteFile(fsys, manifestFile, func(w io.Writer) error {
		_, err := w.Write(line)
		return err
	})
}

// adopt makes a written snapshot the current one.
func (s *Store) adopt(next manifest, changed []*captured, journalBytes int64, took time.Duration) {
	s.mu.Lock()
	for _, c := range changed {
		sp := s.visible.spaces[c.header.Space]
		for _, p := range c.docs {
			p.done(sp)
		}
		var files []string
		for _, d := range c.header.Days {
			files = append(files, d.File)
		}
		for _, d := range c.header.Sessions {
			files = append(files, d.File)
		}
		s.snapshots.docFiles[c.file] = files
	}
	s.mu.Unlock()
	s.snapshots.mu.Lock()
	s.snapshots.current, s.snapshots.journal, s.snapshots.took = next, journalBytes, took
	s.snapshots.mu.Unlock()
}

// removeUnnamed removes snapshot files that neither manifest names. What cannot be removed now is tried again with the next snapshot.
func (s *Store) removeUnnamed(old, current manifest) {
	if !s.keep.TryLock() {
		return // somebody reads the files; the next snapshot removes them
	}
	defer s.keep.Unlock()
	named := map[string]bool{}
	spaceFiles := map[string]bool{}
	for _, m := range []manifest{old, current} {
		for _, sp := range m.Spaces {
			named[sp.File], spaceFiles[sp.File] = true, true
			for _, f := range s.snapshots.docFiles[sp.File] {
				named[f] = true
			}
		}
	}
	maps.DeleteFunc(s.snapshots.docFiles, func(file string, _ []string) bool { return !spaceFiles[file] })
	entries, err := s.fs.ReadDir(snapshotDir)
	if err != nil {
		s.log.Warn("old snapshot files were not removed", "err", err)
		return
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jsonl") && !named[e.Name()] {
			if err := s.fs.Remove(snapshotDir + "/" + e.Name()); err != nil {
				s.log.Warn("old snapshot file was not removed", "file", e.Name(), "err", err)
				return
			}
		}
	}
}
