package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Open recovers the journal below cfg.FS, replays what lies behind cfg.After and returns it ready for writing. The
// directory journal is created when it is missing.
//
// Errors: *CorruptError when acknowledged data is damaged or missing, memory.ErrNewerVersion.
func Open(cfg Config) (*Journal, error) {
	j := &Journal{fs: cfg.FS, log: cfg.Logger, durable: cfg.Durable, failed: cfg.Failed, origin: cfg.Origin, segmentSize: cfg.SegmentSize}
	if j.segmentSize == 0 {
		j.segmentSize = defaultSegment
	}
	j.chunk = min(maxChunk, j.segmentSize/8)
	if err := makeDir(cfg.FS, dir); err != nil {
		return nil, err
	}
	mark, err := readMark(cfg.FS)
	if err != nil {
		return nil, err
	}
	if j.segments, err = listSegments(cfg.FS); err != nil {
		return nil, err
	}
	floor := max(cfg.After, mark)
	if err := j.dropUnusedSegment(floor); err != nil {
		return nil, err
	}
	if len(j.segments) == 0 {
		return j, j.create(cfg, floor)
	}
	if j.segments[0].first > cfg.After+1 {
		return nil, &CorruptError{File: j.segments[0].name, Detail: fmt.Sprintf(
			"the journal starts at %d, but what lies between %d and there is in no snapshot", j.segments[0].first, cfg.After)}
	}
	end, err := j.replay(cfg, floor)
	if err != nil {
		return nil, err
	}
	return j, j.resume(end, mark == j.synced)
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

// dropUnusedSegment removes a last segment that a crash left before its first group: it never held anything acknowledged.
func (j *Journal) dropUnusedSegment(floor int64) error {
	if len(j.segments) == 0 {
		return nil
	}
	s := j.lastSegment()
	if s.first <= floor {
		return nil
	}
	data, _, _, err := readSegment(j.fs, s)
	if _, corrupt := errors.AsType[*CorruptError](err); !corrupt {
		return err // readable: a torn first group is cut by the tail rule
	}
	if len(goodLines(data, s.first)) > 0 {
		return err
	}
	if err := j.fs.Remove(s.name); err != nil {
		return fmt.Errorf("remove unused %s: %w", s.name, err)
	}
	if err := j.fs.SyncDir(dir); err != nil {
		return fmt.Errorf("remove unused %s: %w", s.name, err)
	}
	j.segments = j.segments[:len(j.segments)-1]
	return nil
}

// create makes the first segment of a new journal, or of one whose history lies in the snapshot alone.
func (j *Journal) create(cfg Config, floor int64) error {
	if floor > cfg.After {
		return &CorruptError{File: markFile, Detail: fmt.Sprintf("it says that the journal reached %d, but there is no segment", floor)}
	}
	if j.origin == "" {
		j.origin = cfg.Fresh
	}
	j.epoch = j.origin
	if cfg.After > 0 { // nobody knows how far the history that is gone went, so what follows is another one
		j.epoch = newEpoch(j.origin, cfg.Fresh)
	}
	f, used, err := createSegment(j.fs, j.headerAt(cfg.After+1), j.chunk)
	if err != nil {
		return err
	}
	j.segments = []segment{{name: segmentName(cfg.After + 1), first: cfg.After + 1}}
	j.file, j.written, j.allocated = f, used, used+j.chunk
	j.next, j.synced = cfg.After+1, cfg.After
	return nil
}

// replay checks every segment from cfg.After on and hands the operations behind it to cfg.Replay. It returns where the last segment's
// good lines end.
func (j *Journal) replay(cfg Config, floor int64) (end int64, err error) {
	from := j.segmentOf(cfg.After + 1)
	if err := j.checkHistory(from); err != nil {
		return 0, err
	}
	for i := from; i < len(j.segments); i++ {
		s := j.segments[i]
		data, headerLen, h, err := readSegment(j.fs, s)
		if err != nil {
			if j.readOnly && i > from && i == len(j.segments)-1 && len(goodLines(data, s.first)) == 0 {
				break // a segment that a crash left before its first group
			}
			return 0, err
		}
		if j.origin == "" {
			j.origin = h.Store
		}
		if h.Store != j.origin {
			return 0, &CorruptError{File: s.name, Line: 1, Detail: fmt.Sprintf("it belongs to store %s, not to %s", h.Store, j.origin)}
		}
		j.epoch, j.begun = cmp.Or(h.Epoch, h.Store), h.Begun
		if i > from && s.first != j.next {
			return 0, &CorruptError{File: s.name, Detail: fmt.Sprintf("it starts at %d; the segment before ends at %d", s.first, j.next-1)}
		}
		j.next = s.first
		if end, err = j.replaySegment(cfg, s, data, int64(headerLen), floor, i == len(j.segments)-1); err != nil {
			return 0, err
		}
	}
	if j.next-1 < floor {
		return 0, &CorruptError{File: j.lastSegment().name, Detail: fmt.Sprintf("it ends at %d, but %d had been acknowledged", j.next-1, floor)}
	}
	j.synced = j.next - 1
	return end, nil
}

func (j *Journal) replaySegment(cfg Config, s segment, data []byte, at, floor int64, isLast bool) (end int64, err error) {
	var parts []*Record
	opStart, line := at, 1
	j.lastAt = 0
	for {
		line++
		raw, good := nextGood(data[at:], j.next)
		if !good {
			break
		}
		if len(parts) == 0 {
			opStart = at
		}
		h, _ := parseHead(raw)
		if line == 2 {
			j.lastAt = 0
		} else if h.group == h.lsn {
			j.lastAt = at
		}
		at += int64(len(raw)) + 1
		j.next++
		if h.last() <= cfg.After {
			continue
		}
		rec, err := decodeLine(raw)
		if err != nil {
			return 0, &CorruptError{File: s.name, Line: line, Detail: "its CRC is right but it does not decode: " + err.Error()}
		}
		parts = append(parts, rec)
		j.bytes += int64(len(raw)) + 1
		if rec.LSN < rec.Last() {
			continue
		}
		if err := cfg.Replay(join(parts)); err != nil {
			return 0, fmt.Errorf("replay %s line %d: %w", s.name, line, err)
		}
		parts = nil
	}
	if len(parts) == 0 && allZero(data[at:]) {
		return at, nil
	}
	if detail := damage(data[at:], j.next, floor); detail != "" || !isLast {
		if detail == "" {
			detail = "its line is not whole, and there is a later segment"
		}
		return 0, &CorruptError{File: s.name, Line: line, Detail: detail}
	}
	if len(parts) > 0 {
		at, j.next = opStart, parts[0].LSN
	}
	if j.readOnly {
		return at, nil
	}
	return at, j.cutTail(s, data, at)
}

// nextGood returns the first line of data, without its newline, when it is the whole record with LSN want.
func nextGood(data []byte, want int64) ([]byte, bool) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 || !durable.LineGood(data[:end]) {
		return nil, false
	}
	h, ok := parseHead(data[:end])
	return data[:end], ok && h.lsn == want
}

// goodLines returns the heads of the good records in data, whatever lies between them, from LSN min on.
func goodLines(data []byte, min int64) []head {
	var out []head
	for piece := range bytes.SplitSeq(data, []byte{'\n'}) {
		piece = bytes.TrimLeft(piece, "\x00")
		if !durable.LineGood(piece) {
			continue
		}
		if h, ok := parseHead(piece); ok && h.lsn >= min {
			out = append(out, h)
		}
	}
	return out
}

// damage decides by the tail rule what a line that is not good at LSN want means: "" for the torn tail of a group that was never
// acknowledged, else why acknowledged data must be missing.
func damage(rest []byte, want, floor int64) string {
	if want <= floor {
		return fmt.Sprintf("record %d is not whole, but %d had been acknowledged", want, floor)
	}
	for _, h := range goodLines(rest, want) {
		if h.group > want {
			return fmt.Sprintf("record %d is not whole, but record %d was written after it had been acknowledged", want, h.lsn)
		}
	}
	return ""
}

// cutTail keeps a copy of the torn bytes behind at and removes them from the segment, durably.
func (j *Journal) cutTail(s segment, data []byte, at int64) error {
	torn := bytes.TrimRight(data[at:], "\x00")
	if err := makeDir(j.fs, quarantineDir); err != nil {
		return err
	}
	name := fmt.Sprintf("%s/torn-%s-%d.bin", quarantineDir, strings.TrimSuffix(path.Base(s.name), ".jsonl"), at)
	if err := writeWhole(j.fs, name, torn); err != nil {
		return fmt.Errorf("keep torn tail of %s: %w", s.name, err)
	}
	f, err := j.fs.OpenFile(s.name, os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("cut torn tail: %w", err)
	}
	err = f.Truncate(at)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("cut torn tail of %s: %w", s.name, err)
	}
	j.log.Warn("cut the torn end of the journal; it had not been acknowledged", "file", s.name, "bytes", len(torn), "kept", name)
	return nil
}

// resume opens the last segment for writing behind end. clean says that the last life ended with the mark of a clean stop.
func (j *Journal) resume(end int64, clean bool) error {
	s := j.lastSegment()
	f, err := j.fs.OpenFile(s.name, os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.name, err)
	}
	if !clean {
		err = rewriteLast(f, j.lastAt, end)
	}
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr); err != nil {
		_ = f.Close()
		return fmt.Errorf("open %s: %w", s.name, err)
	}
	j.file, j.written, j.allocated = f, end, info.Size()
	return nil
}

// rewriteLast makes durable what recovery read as such. The last group may only have been in memory when the daemon died. And when its sync
// had failed, the kernel holds its pages for clean and would never write them: they are written anew, with the size.
func rewriteLast(f durable.File, at, end int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	last := make([]byte, end-at)
	if _, err := f.ReadAt(last, at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	// Without space the size stays as it is; it was allocated, and so known to the disk, before the group was written.
	if err := f.Allocate(info.Size() + 1); err != nil && !durable.IsDiskFull(err) {
		return err
	}
	if _, err := f.WriteAt(last, at); err != nil {
		return err
	}
	return f.Sync()
}

// segmentOf returns the index of the segment that holds lsn, the last one for a later LSN.
func (j *Journal) segmentOf(lsn int64) int {
	i := len(j.segments) - 1
	for i > 0 && j.segments[i].first > lsn {
		i--
	}
	return i
}

// errTrimmed wraps memory.ErrTrimmed with what is still there.
func errTrimmed(lsn, first int64) error {
	return fmt.Errorf("operation %d: %w; the oldest one kept is %d", lsn, memory.ErrTrimmed, first)
}
