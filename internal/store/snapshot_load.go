package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// readManifest reads a manifest of a snapshot; the zero manifest when there is none. Errors: *journal.CorruptError,
// memory.ErrNewerVersion.
func readManifest(fsys durable.FS, name string) (manifest, error) {
	raw, err := durable.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return manifest{}, nil
	}
	if err != nil {
		return manifest{}, fmt.Errorf("read %s: %w", name, err)
	}
	line := bytes.TrimSuffix(raw, []byte("\n"))
	if !durable.ValidLine(line) {
		return manifest{}, &journal.CorruptError{File: name, Line: 1, Detail: "its checksum does not match"}
	}
	var m manifest
	if err := decodeVersioned(name, line, &m, &m.Format); err != nil {
		return manifest{}, err
	}
	for i := 1; i < len(m.Spaces); i++ { // a hundred thousand spaces have the names of a few packs
		if last := &m.Spaces[i-1]; m.Spaces[i].File == last.File {
			m.Spaces[i].File = last.File
		}
	}
	return m, nil
}

// decodeVersioned decodes a line of file name, whose checksum was verified, into v, of which format is a part that says
// whether this version may read the file. Errors: *journal.CorruptError, memory.ErrNewerVersion.
func decodeVersioned(name string, line []byte, v any, format *journal.Format) error {
	err := durable.DecodeLine(line, v)
	if err == nil {
		return format.Check(name)
	}
	// A newer version may have members that this one does not know; that it is newer explains more.
	var only struct{ journal.Format }
	if json.Unmarshal(line, &only) == nil {
		if newer := only.Check(name); newer != nil {
			return newer
		}
	}
	if errors.Is(err, memory.ErrNewerVersion) {
		return fmt.Errorf("%s line 1: %w", name, err)
	}
	return &journal.CorruptError{File: name, Line: 1, Detail: err.Error()}
}

// load fills the visible state from the snapshot and checks that the files of bodies exist.
func (s *Store) load(m manifest) error {
	s.visible.dropped = m.LSN // the space with its newest record may be gone
	if err := s.loadSpaces(m); err != nil {
		return err
	}
	return s.checkBodyFiles()
}

// loadSpaces fills the visible state from the snapshot. Spaces that are older than an unfinished purge are scrubbed.
func (s *Store) loadSpaces(m manifest) error {
	inFiles := slices.Clone(m.Spaces)
	slices.SortFunc(inFiles, func(a, b spaceInFile) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
	})
	var files [][]spaceInFile
	for i, f := range inFiles {
		if i == 0 || f.File != inFiles[i-1].File {
			files = append(files, nil)
		}
		files[len(files)-1] = append(files[len(files)-1], f)
	}
	loaded := make([][]loadedSpace, len(files))
	errs := make([]error, len(files))
	inParallel(len(files), func(i int) { loaded[i], errs[i] = s.loadFile(files[i]) })
	for i, spaces := range loaded {
		if errs[i] != nil {
			return errs[i]
		}
		for _, l := range spaces {
			if err := s.addLoaded(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadedSpace is a space of a snapshot.
type loadedSpace struct {
	in     spaceInFile
	bodies []string // names of their files
	space  *spaceState
	pack   *pack // nil unless the space is cold
}

// loadFile reads the spaces of one file.
func (s *Store) loadFile(spaces []spaceInFile) ([]loadedSpace, error) {
	file := spaceFiles{fs: s.fs}
	var of *pack // when they are cold
	out := make([]loadedSpace, 0, len(spaces))
	for _, f := range spaces {
		header, data, lines, err := file.read(f)
		if err != nil {
			return nil, err
		}
		l := loadedSpace{in: f, space: s.visible.restore(header)}
		if f.Packed && compressed.Is(file.data) {
			if of == nil {
				if of, err = s.openPack(f.File, file.data); err != nil {
					return nil, err
				}
			}
			l.pack = of
			err = l.space.coolAt(of, f, data, len(lines))
		} else {
			err = s.fillDecoded(l.space, f, lines)
		}
		if err != nil {
			return nil, file.error(f, err)
		}
		for _, d := range header.Days {
			l.bodies = append(l.bodies, d.File)
		}
		for _, d := range header.Sessions {
			l.bodies = append(l.bodies, d.File)
		}
		out = append(out, l)
	}
	return out, nil
}

// fillDecoded fills a space with the memories of verified lines.
func (s *Store) fillDecoded(sp *spaceState, f spaceInFile, lines [][]byte) error {
	memories, err := decodeMemories(f.File, lines)
	if err != nil {
		return err
	}
	for _, m := range memories {
		s.interned.memory(m)
	}
	sp.fill(memories)
	return nil
}

// coolAt makes a space cold, of which a pack has count memories in data, whose checksums were verified. It decodes only
// what may expire.
func (sp *spaceState) coolAt(p *pack, f spaceInFile, data []byte, count int) error {
	c := &coldMemories{pack: p, at: f.Offset, bytes: uint32(len(data)), sum: crc32.Checksum(data, castagnoli),
		count: uint32(count)}
	if bytes.Contains(data, []byte(`"expires_at"`)) {
		memories, err := c.read()
		if err != nil {
			return err
		}
		c.expiring = slices.ContainsFunc(memories, hasExpiry)
	}
	sp.cool(c)
	return nil
}

// addLoaded adds a space to the visible state.
func (s *Store) addLoaded(l loadedSpace) error {
	if n := len(s.snapshots.packs); l.pack != nil && (n == 0 || s.snapshots.packs[n-1] != l.pack) {
		s.snapshots.packs = append(s.snapshots.packs, l.pack)
	}
	// A snapshot of after the purge's commit is clean already.
	if s.scrubber != nil && l.in.LSN < s.scrubber.op {
		change, err := l.space.scrub(s.scrubber, map[*memory.Memory]*memory.Memory{})
		if err != nil {
			return err
		}
		l.space.applyScrub(change)
	}
	s.visible.spaces[l.in.Name] = l.space
	if len(l.bodies) > 0 {
		s.snapshots.bodyFiles[l.in.File] = append(s.snapshots.bodyFiles[l.in.File], l.bodies...)
	}
	return nil
}

// inParallel calls work for each number below n, as many at a time as there are processors.
func inParallel(n int, work func(int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers == 1 {
		for i := range n {
			work(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wg.Wait()
}

// checkBodyFiles makes sure that the files of daily logs and sessions exist at full length. They are only read when
// they are needed. A copy of the directory that was made while a snapshot was written may lack some, and must be
// refused at once.
func (s *Store) checkBodyFiles() error {
	var files []body
	for _, sp := range s.visible.spaces {
		for _, d := range sp.days {
			files = append(files, d.body)
		}
		for _, se := range sp.sessions {
			files = append(files, se.body)
		}
	}
	for _, d := range files {
		if d.file == "" {
			continue
		}
		name := snapshotDir + "/" + d.file
		info, err := s.fs.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &journal.CorruptError{File: name, Detail: "it is missing"}
		case err != nil:
			return fmt.Errorf("look at %s: %w", name, err)
		case d.bytes != 0 && info.Size() != d.bytes:
			return &journal.CorruptError{File: name,
				Detail: fmt.Sprintf("it has %d bytes, not %d", info.Size(), d.bytes)}
		}
	}
	return nil
}

// restore makes a space without memories from the contents of a snapshot.
func (st *state) restore(h *spaceHeader) *spaceState {
	sp := st.newSpace(h.Space)
	sp.summary, sp.revision, sp.changed = h.Summary, h.Revision, h.Changed
	sp.forgotten, sp.removed = h.Forgotten, h.Removed
	for _, r := range h.Receipts {
		put(&sp.receipts, r.Key, &r)
	}
	for _, d := range h.Days {
		put(&sp.days, d.Header.Date, &day{header: d.Header, body: body{file: d.File, items: d.Items, bytes: d.Bytes}})
	}
	sp.archiveRevision = h.ArchiveRevision
	for _, r := range h.Archive {
		put(&sp.archive, r.ID, r)
	}
	for _, se := range h.Sessions {
		put(&sp.sessions, se.Header.ID, &session{header: se.Header,
			body: body{file: se.File, items: se.Items, bytes: se.Bytes}})
	}
	return sp
}

// withRoom copies slots with room for an eighth more: the first additions after a start would otherwise copy the whole
// slice. Of a few memories it is none.
func withRoom(slots []*memory.Memory) []*memory.Memory {
	return append(make([]*memory.Memory, 0, len(slots)+len(slots)/8), slots...)
}

// spaceFiles reads spaces in a snapshot, and keeps the file read last, which may be a pack.
type spaceFiles struct {
	fs   durable.FS
	name string
	data []byte // as it is in the file
	// lines is data decompressed.
	lines []byte
}

// read reads one space, and returns its header, all of its lines, and those of its memories, which are not decoded.
// Their checksums are verified.
func (r *spaceFiles) read(f spaceInFile) (header *spaceHeader, data []byte, lines [][]byte, err error) {
	if r.name != f.File {
		data, err := readSnapshotFile(r.fs, f.File)
		if err != nil {
			return nil, nil, nil, err
		}
		r.name, r.data, r.lines = f.File, data, linesOf(data)
	}
	data = r.lines
	if f.Packed {
		if f.Offset < 0 || f.Bytes < 0 || f.Offset > int64(len(data)) || f.Bytes > int64(len(data))-f.Offset {
			return nil, nil, nil, &journal.CorruptError{File: snapshotDir + "/" + f.File,
				Detail: fmt.Sprintf("it ends before space %s does", f.Name)}
		}
		data = data[f.Offset : f.Offset+f.Bytes]
	}
	header = new(spaceHeader)
	lines, err = parseLines(f.File, data, header, &header.Format, func() int { return header.Memories })
	if err == nil && header.Space != f.Name {
		err = &journal.CorruptError{File: snapshotDir + "/" + f.File, Line: 1,
			Detail: fmt.Sprintf("it holds space %q in place of %q", header.Space, f.Name)}
	}
	header.Space = f.Name // the same string once
	return header, data, lines, r.error(f, err)
}

// error returns the error of reading a space, with the number of the line in the whole file.
func (r *spaceFiles) error(f spaceInFile, err error) error {
	if damaged, ok := errors.AsType[*journal.CorruptError](err); ok && damaged.Line > 0 && f.Packed {
		damaged.Line += bytes.Count(r.lines[:f.Offset], []byte("\n"))
	}
	return err
}

// readBodyFile reads the body of a daily log or session. items is the number of items according to the space's header.
func readBodyFile[T any](fsys durable.FS, name string, items int) ([]T, error) {
	header := new(bodyHeader)
	data, err := readSnapshotFile(fsys, name)
	if err != nil {
		return nil, err
	}
	lines, err := parseLines(name, linesOf(data), header, &header.Format, func() int { return items })
	if err != nil {
		return nil, err
	}
	out := make([]T, len(lines))
	for i, line := range lines {
		if err := decodeLine(name, i+2, line, &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readSnapshotFile reads a file of a snapshot.
func readSnapshotFile(fsys durable.FS, name string) ([]byte, error) {
	name = path.Join(snapshotDir, name)
	data, err := durable.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (%w)", &journal.CorruptError{File: name, Detail: "it is missing"}, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// linesOf returns the lines of a file of a snapshot, which an older program did not compress.
func linesOf(data []byte) []byte {
	if compressed.Is(data) {
		return compressed.Decompress(data)
	}
	return data
}

// parseLines decodes the first line of data, a file of a snapshot or a part of one, into header and returns the others,
// whose checksums are verified. count is called once header is decoded, and returns how many lines must follow. format
// is the part of header that says whether this version may read the file.
func parseLines(base string, data []byte, header any, format *journal.Format, count func() int) ([][]byte, error) {
	name := path.Join(snapshotDir, base)
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	for i, line := range lines {
		if !durable.ValidLine(line) {
			return nil, &journal.CorruptError{File: name, Line: i + 1, Detail: "its checksum does not match"}
		}
	}
	if err := decodeVersioned(name, lines[0], header, format); err != nil {
		return nil, err
	}
	// Each line has its own checksum; only the count shows that whole lines are missing.
	if len(lines)-1 != count() {
		return nil, &journal.CorruptError{File: name,
			Detail: fmt.Sprintf("it holds %d items, not %d", len(lines)-1, count())}
	}
	return lines[1:], nil
}

// decodeLine decodes a line of a snapshot's file. Errors: *journal.CorruptError, memory.ErrNewerVersion.
func decodeLine(name string, number int, line []byte, v any) error {
	return lineError(name, number, durable.DecodeLine(line, v))
}

// lineError says in which line of a snapshot's file an error of durable.DecodeLine is. A nil error stays nil.
func lineError(name string, number int, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, memory.ErrNewerVersion):
		return fmt.Errorf("%s/%s line %d: %w", snapshotDir, name, number, err)
	}
	return &journal.CorruptError{File: snapshotDir + "/" + name, Line: number, Detail: err.Error()}
}

// decodeMemories decodes lines in parallel: decoding is most of the time that a start takes. Errors: as of decodeLine.
func decodeMemories(name string, lines [][]byte) ([]*memory.Memory, error) {
	out := make([]*memory.Memory, len(lines))
	parts := min(runtime.GOMAXPROCS(0), len(lines)/1024+1)
	errs := make([]error, parts)
	inParallel(parts, func(part int) {
		var d memoryDecoder
		for i := part * len(lines) / parts; i < (part+1)*len(lines)/parts; i++ {
			m, err := d.decode(lines[i])
			if err != nil {
				errs[part] = lineError(name, i+2, err)
				return
			}
			out[i] = m
		}
	})
	return out, errors.Join(errs...)
}

// memoryDecoder decodes lines of memories. The zero value is ready. It is for one goroutine.
type memoryDecoder struct {
	reader codec.JournalReader
	body   []byte
}

// decode decodes a line whose checksum was verified. Errors: as of durable.DecodeLine.
func (d *memoryDecoder) decode(line []byte) (*memory.Memory, error) {
	d.body = durable.AppendBody(d.body[:0], line)
	if m, rest, ok := d.reader.Memory(d.body); ok && len(rest) == 0 {
		return m, nil
	}
	m := new(memory.Memory)
	return m, durable.DecodeLine(line, m)
}
