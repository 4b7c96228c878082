package store

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/process/background"
	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// A snapshot is one file per space, or per pack of small ones (snapshot_pack.go), one file per body of a daily log or
// session, and a manifest that names the files of the spaces. Files are immutable: a new snapshot writes only what
// changed and names the others again. The newest manifest and the previous one are kept, so that a damaged snapshot has
// a substitute.
const (
	snapshotDir  = "snapshots"
	manifestFile = snapshotDir + "/MANIFEST.json"
	previousFile = snapshotDir + "/MANIFEST.prev.json"
)

// manifest names the files of a snapshot. It is one line with a CRC-32C.
type manifest struct {
	journal.Format
	Store  string        `json:"store"`
	LSN    int64         `json:"lsn"` // everything up to here is in the files
	At     time.Time     `json:"at"`
	Spaces []spaceInFile `json:"spaces"`
}

// spaceInFile is a space in the manifest.
type spaceInFile struct {
	Name  string `json:"name"`
	File  string `json:"file"`
	LSN   int64  `json:"lsn"`   // newest record of the space in the file
	Bytes int64  `json:"bytes"` // not compressed, as is Offset
	// Packed says that File is a pack; the space has Bytes of it, from Offset.
	Packed bool  `json:"packed,omitempty"`
	Offset int64 `json:"offset,omitempty"`
}

// spaceHeader is the first line of a space in its file. The memories follow, one line each, in order of creation.
type spaceHeader struct {
	journal.Format
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

// bodyInFile says where a body is. Bytes is 0 in snapshots of versions that did not record it.
type bodyInFile struct {
	File  string `json:"file,omitempty"`
	Items int    `json:"items,omitempty"`
	Bytes int64  `json:"bytes,omitempty"` // length of File, compressed; 0 in snapshots of before it was noted
}

// dayInFile is a daily log in the file of its space.
type dayInFile struct {
	Header *memory.Day `json:"header"`
	bodyInFile
}

// sessionInFile is a session in the file of its space.
type sessionInFile struct {
	Header *memory.Session `json:"header"`
	bodyInFile
}

// bodyHeader is the first line of a body's file. The entries or messages follow, one line each.
type bodyHeader struct {
	journal.Format
	Name  string `json:"name"`
	Items int    `json:"items"`
}

// snapshots is what the store remembers of its snapshots.
type snapshots struct {
	// writing is held while a snapshot is written. It guards bodyFiles, packs and failures. lock takes it.
	writing sync.Mutex
	// waiting are those who wait for writing.
	waiting background.Waiters
	// bodyFiles are the files of bodies that a space's file names.
	bodyFiles map[string][]string
	// packs are open.
	packs []*pack
	// failures counts the attempts that failed since the newest snapshot.
	failures int

	mu      sync.Mutex
	current manifest // guarded by mu
	// journal is how many bytes of journal had been appended when the newest snapshot was taken. Guarded by mu.
	journal int64
	took    time.Duration
}

// lock takes writing. A snapshot that is being written in the background is urgent meanwhile.
func (sn *snapshots) lock() {
	defer sn.waiting.Wait()()
	sn.writing.Lock()
}

// stale reports whether the newest snapshot lacks something up to lsn.
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

// Checkpoint writes a snapshot of everything durable and returns the LSN that it includes. Durable on return. The
// commit point is the directory sync after the manifest was renamed; until then the old snapshot is the newest.
func (s *Store) Checkpoint(ctx context.Context) (int64, error) {
	return s.checkpoint(ctx, background.Pace{})
}

// checkpoint is Checkpoint at a pace.
func (s *Store) checkpoint(ctx context.Context, pace background.Pace) (int64, error) {
	s.snapshots.lock()
	defer s.snapshots.writing.Unlock()
	start := s.now()
	s.snapshots.mu.Lock()
	old := s.snapshots.current
	s.snapshots.mu.Unlock()

	if err := makeDir(s.fs, snapshotDir); err != nil {
		return 0, err
	}
	journalBytes := s.journal.Stats().Bytes
	// No file that a manifest on disk may name is ever written again. That includes files of an attempt whose last sync
	// failed, so the number of failures is part of the names.
	lsn, stamp, kept, changed := s.capture(old, s.snapshots.failures)
	if lsn == old.LSN {
		return lsn, nil
	}
	s.snapshots.failures++
	next := manifest{Format: journal.CurrentFormat(), Store: s.journal.Origin(), LSN: lsn, At: start.UTC()}
	written := make(map[string]bool, len(changed))
	for _, c := range changed {
		written[c.header.Space] = true
	}
	for _, f := range kept {
		if !written[f.Name] {
			next.Spaces = append(next.Spaces, f)
		}
	}
	for _, group := range packs(changed, stamp, s.packFrom) {
		files, err := s.writeSpaces(group, func() error { return pace.Step(ctx) })
		if err != nil {
			return 0, fmt.Errorf("snapshot of space %s: %w", group[0].header.Space, err)
		}
		next.Spaces = append(next.Spaces, files...)
	}
	slices.SortFunc(next.Spaces, func(a, b spaceInFile) int { return strings.Compare(a.Name, b.Name) })
	if err := s.fs.SyncDir(snapshotDir); err != nil {
		return 0, fmt.Errorf("snapshot: %w", err)
	}
	if err := writeManifest(s.fs, next); err != nil {
		return 0, fmt.Errorf("snapshot: %w", err)
	}
	s.installSnapshot(next, changed, journalBytes, s.now().Sub(start))
	s.removeUnreferenced(old, next)
	s.snapshots.failures = 0
	return lsn, nil
}

// writeSpaces writes the files of captured spaces, which share one file. It calls step between pieces of work.
func (s *Store) writeSpaces(group []*spaceCapture, step func() error) ([]spaceInFile, error) {
	for _, c := range group {
		if err := step(); err != nil {
			return nil, err
		}
		if err := s.writeBodies(c); err != nil {
			return nil, err
		}
	}
	packed := len(group) > 1
	var entries []spaceInFile
	var data bytes.Buffer // of a pack
	keep := io.Discard
	if packed {
		keep = &data
	}
	err := writeSnapshotFile(s.fs, group[0].file, keep, func(w io.Writer) error {
		offset := int64(0)
		for _, c := range group {
			sum := crc32.New(castagnoli)
			n, err := c.writeLines(io.MultiWriter(background.Writer(w, bytesAStep, step), sum))
			if err != nil {
				return err
			}
			entry := spaceInFile{Name: c.header.Space, LSN: c.header.Changed, File: c.file, Bytes: n}
			if packed {
				entry.Packed, entry.Offset = true, offset
				c.packed = &coldMemories{at: offset, bytes: uint32(n), sum: sum.Sum32(),
					count: uint32(c.header.Memories), expiring: c.expiring()}
			}
			entries, offset = append(entries, entry), offset+n
		}
		return nil
	})
	switch c := group[0]; {
	case err != nil:
		return nil, err
	case packed:
		return entries, s.openWritten(group, data.Bytes())
	case c.cold != nil: // it becomes warm
		c.memories, err = c.cold.read()
	}
	return entries, err
}

// bytesAStep are encoded and compressed in less than half a millisecond.
const bytesAStep = 16 << 10

// openWritten opens a pack that was written, of which data is the content.
func (s *Store) openWritten(group []*spaceCapture, data []byte) error {
	p, err := s.openPack(group[0].file, data)
	if err != nil {
		return err
	}
	s.snapshots.packs = append(s.snapshots.packs, p)
	for _, c := range group {
		c.packed.pack = p
	}
	return nil
}

// writeBodies writes the files of the daily logs and sessions of a space that changed, and names them in its header.
func (s *Store) writeBodies(c *spaceCapture) error {
	written := map[string]bodyInFile{} // by the name that was planned
	for _, p := range c.bodies {
		planned := p.file
		if err := p.write(s.fs, p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		info, err := s.fs.Lstat(snapshotDir + "/" + p.file)
		if err != nil {
			return err
		}
		p.bytes = info.Size()
		written[planned] = bodyInFile{File: p.file, Items: p.items, Bytes: p.bytes}
	}
	for i, d := range c.header.Days {
		if d.Items < 0 {
			c.header.Days[i].bodyInFile = written[d.File]
		}
	}
	for i, d := range c.header.Sessions {
		if d.Items < 0 {
			c.header.Sessions[i].bodyInFile = written[d.File]
		}
	}
	return nil
}

// writeLines writes a file of a header line and one line per item, and syncs it. It does not sync the directory.
func writeLines[T any](fsys durable.FS, name string, header any, items []T) error {
	return writeSnapshotFile(fsys, name, io.Discard, func(w io.Writer) error {
		_, err := encodeLines(w, header, items)
		return err
	})
}

// writeSnapshotFile writes and syncs a file of a snapshot, compressed, and writes the same to keep. It does not sync
// the directory.
func writeSnapshotFile(fsys durable.FS, name string, keep io.Writer, write func(io.Writer) error) (err error) {
	// An interrupted snapshot may have left a file of this name.
	f, err := fsys.OpenFile(snapshotDir+"/"+name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 256<<10)
	lines := compressed.NewWriter(io.MultiWriter(w, keep))
	if err := write(lines); err != nil {
		return err
	}
	if err := lines.Close(); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

// encodeLines writes a header line and one line per item, and returns how many bytes that are.
func encodeLines[T any](w io.Writer, header any, items []T) (n int64, err error) {
	line, err := durable.AppendLine(nil, header)
	for i := 0; err == nil; i++ {
		var written int
		written, err = w.Write(line)
		n += int64(written)
		if err != nil || i == len(items) {
			break
		}
		line, err = durable.AppendLine(line[:0], items[i])
	}
	return n, err
}

// writeManifest commits a snapshot. The manifest before becomes the previous one: it is linked, not renamed, so that a
// manifest exists at every moment.
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

// installSnapshot makes a written snapshot the current one.
func (s *Store) installSnapshot(next manifest, changed []*spaceCapture, journalBytes int64, took time.Duration) {
	s.mu.Lock()
	for _, c := range changed {
		sp := s.visible.spaces[c.header.Space]
		for _, p := range c.bodies {
			if sp != nil { // it was not dropped meanwhile
				p.install(sp)
			}
		}
		var files []string
		for _, d := range c.header.Days {
			files = append(files, d.File)
		}
		for _, d := range c.header.Sessions {
			files = append(files, d.File)
		}
		s.snapshots.bodyFiles[c.file] = append(s.snapshots.bodyFiles[c.file], files...) // of a pack
	}
	s.mu.Unlock()
	for some := range slices.Chunk(changed, 1000) { // others wait for the locks a millisecond at a time
		s.coolWritten(some)
	}
	s.recent.clear() // it would keep packs of before
	s.snapshots.mu.Lock()
	s.snapshots.current, s.snapshots.journal, s.snapshots.took = next, journalBytes, took
	s.snapshots.mu.Unlock()
}

// closePacks closes the packs that the newest snapshot does not name: no space is in them any more. The caller holds
// snapshots.writing, and filesMu, because a view may have such spaces.
func (s *Store) closePacks(current manifest) {
	named := map[string]bool{}
	for _, sp := range current.Spaces {
		named[sp.File] = true
	}
	s.snapshots.packs = slices.DeleteFunc(s.snapshots.packs, func(p *pack) bool {
		if named[p.file] {
			return false
		}
		_ = p.from.Close() // it was only read
		return true
	})
}

// removeUnreferenced removes snapshot files that neither manifest names. What cannot be removed now is removed after
// the next snapshot.
func (s *Store) removeUnreferenced(old, current manifest) {
	if !s.filesMu.TryLock() {
		return // the files are being read; the next snapshot removes them
	}
	defer s.filesMu.Unlock()
	named := map[string]bool{}
	spaceFiles := map[string]bool{}
	for _, m := range []manifest{old, current} {
		for _, sp := range m.Spaces {
			named[sp.File], spaceFiles[sp.File] = true, true
			for _, f := range s.snapshots.bodyFiles[sp.File] {
				named[f] = true
			}
		}
	}
	s.closePacks(current)
	maps.DeleteFunc(s.snapshots.bodyFiles, func(file string, _ []string) bool { return !spaceFiles[file] })
	entries, err := s.fs.ReadDir(snapshotDir)
	if err != nil {
		s.log.Warn("could not list old snapshot files for removal", "err", err)
		return
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jsonl") && !named[e.Name()] {
			if err := s.fs.Remove(snapshotDir + "/" + e.Name()); err != nil {
				s.log.Warn("could not remove an old snapshot file", "file", e.Name(), "err", err)
				return
			}
		}
	}
}
