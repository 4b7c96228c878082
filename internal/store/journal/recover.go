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

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Open recovers the journal below cfg.FS, replays what is behind cfg.After and returns it ready for writing. It creates
// the directory journal when it is missing.
//
// The tail rule separates a torn write from damage: a record that is not whole, and everything behind it, is discarded
// if it can only belong to the last group, which was never acknowledged. Anything else that is not whole is damage, and
// Open refuses it. See diagnoseTail.
//
// Errors: *CorruptError when acknowledged data is damaged or missing, memory.ErrNewerVersion.
func Open(cfg Config) (*Journal, error) {
	j := &Journal{fs: cfg.FS, log: cfg.Logger, durable: cfg.Durable, failed: cfg.Failed, origin: cfg.Origin,
		segmentSize: cfg.SegmentSize}
	if j.segmentSize == 0 {
		j.segmentSize = defaultSegmentSize
	}
	j.chunk = min(maxChunk, j.segmentSize/8)
	var err error
	if j.segments, err = listSegments(cfg.FS); err != nil && !errors.Is(err, errNotExist) {
		return nil, err
	}
	proofs, mark, err := collectProofs(cfg.FS, cfg.Origin, cfg.After, j.segments, cfg.Proofs)
	if err != nil {
		return nil, err
	}
	floor := strongest(proofs)
	// A crash during rotation leaves a segment without a record.
	unused, err := j.unusedSegment(floor)
	if err != nil {
		return nil, err
	}
	if unused != nil {
		j.segments = j.segments[:len(j.segments)-1]
	}
	if len(j.segments) == 0 {
		if floor.LSN > cfg.After {
			return nil, noSegment(floor)
		}
		if err := j.removeUnused(unused); err != nil {
			return nil, err
		}
		if err := makeDir(cfg.FS, dir); err != nil {
			return nil, err
		}
		if err := j.create(cfg); err != nil {
			return nil, err
		}
		j.openHighWater()
		return j, nil
	}
	if j.segments[0].first > cfg.After+1 {
		return nil, &CorruptError{File: j.segments[0].name, Detail: fmt.Sprintf(
			"the journal starts at %d, but what lies between %d and there is in no snapshot", j.segments[0].first,
			cfg.After)}
	}
	end, err := j.replay(cfg, floor)
	if err != nil {
		return nil, err
	}
	if err := j.removeUnused(unused); err != nil {
		return nil, err
	}
	empty := j.lastSegment().first == j.next
	if empty && j.lastFormat.older() {
		if end, err = j.replaceHeader(); err != nil {
			return nil, err
		}
	}
	if err := j.openForAppend(end, mark == j.synced); err != nil {
		return nil, err
	}
	j.openHighWater()
	if !empty && j.lastFormat.older() {
		// On a full disk the segment goes on: records that an older program does not know stop it at their line.
		if err := j.Roll(); err != nil && !errors.Is(err, memory.ErrDiskFull) {
			return nil, errors.Join(err, j.Abandon())
		}
	}
	return j, nil
}

// makeDir creates a directory and makes its name durable.
func makeDir(fsys durable.FS, name string) error {
	if err := fsys.MkdirAll(name); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	if err := fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	return nil
}

// unusedSegment returns a last segment without a readable header or record, which a crash leaves between the creation
// of a segment and its first group; nil when there is none. It never held anything acknowledged: its first LSN is above
// that of floor.
func (j *Journal) unusedSegment(floor Proof) (*segment, error) {
	if len(j.segments) == 0 {
		return nil, nil
	}
	s := j.lastSegment()
	if s.first <= floor.LSN {
		return nil, nil
	}
	data, _, _, err := readSegment(j.fs, s)
	if _, corrupt := errors.AsType[*CorruptError](err); !corrupt {
		return nil, err // its header is readable: the tail rule cuts a torn first group
	}
	if len(scanGoodLines(data, s.first)) > 0 {
		return nil, err
	}
	return &s, nil
}

// removeUnused removes the segment that unusedSegment returned, if any. It waits until nothing else is found damaged:
// a refused start changes nothing. Durable on return.
func (j *Journal) removeUnused(s *segment) error {
	if s == nil {
		return nil
	}
	if err := j.fs.Remove(s.name); err != nil {
		return fmt.Errorf("remove unused %s: %w", s.name, err)
	}
	if err := j.fs.SyncDir(dir); err != nil {
		return fmt.Errorf("remove unused %s: %w", s.name, err)
	}
	return nil
}

// create makes the first segment of a new journal, or of one whose segments are gone and whose state is in the snapshot
// alone.
func (j *Journal) create(cfg Config) error {
	if j.origin == "" {
		j.origin = cfg.NewOrigin
	}
	j.epoch = j.origin
	if cfg.After > 0 { // numbers behind the snapshot may have been given out before, so a new epoch begins
		j.epoch = newEpoch(j.origin, cfg.NewOrigin)
	}
	f, used, err := createSegment(j.fs, j.headerAt(cfg.After+1), j.chunk)
	if err != nil {
		return err
	}
	if j.fileInfo, err = f.Stat(); err != nil {
		return errors.Join(fmt.Errorf("create %s: %w", segmentName(cfg.After+1), err), f.Close())
	}
	j.segments = []segment{{name: segmentName(cfg.After + 1), first: cfg.After + 1}}
	j.file, j.appendEnd, j.allocated = f, used, used+j.chunk
	j.next, j.synced = cfg.After+1, cfg.After
	return nil
}

// replay checks every segment from cfg.After on and hands the operations behind it to cfg.Replay. floor
// proves what was acknowledged. It returns the offset at which the good lines of the last segment end.
func (j *Journal) replay(cfg Config, floor Proof) (end int64, err error) {
	from := j.segmentOf(cfg.After + 1)
	if err := j.checkContiguous(from); err != nil {
		return 0, err
	}
	for i := from; i < len(j.segments); i++ {
		s := j.segments[i]
		data, isCompressed, err := readSegmentFile(j.fs, s.name)
		if err != nil {
			return 0, err
		}
		headerLen, h, err := parseHeader(s, data)
		if err != nil {
			if j.readOnly && i > from && i == len(j.segments)-1 && len(scanGoodLines(data, s.first)) == 0 {
				break // a crash left it before its first group
			}
			return 0, err
		}
		if j.origin == "" {
			j.origin = h.Store
		}
		if h.Store != j.origin {
			return 0, &CorruptError{File: s.name, Line: 1,
				Detail: fmt.Sprintf("it belongs to store %s, not to %s", h.Store, j.origin)}
		}
		j.epoch, j.epochStart, j.lastFormat = cmp.Or(h.Epoch, h.Store), h.Begun, h.Format
		if i > from && s.first != j.next {
			return 0, &CorruptError{File: s.name,
				Detail: fmt.Sprintf("it starts at %d; the segment before ends at %d", s.first, j.next-1)}
		}
		j.next = s.first
		isLast := i == len(j.segments)-1 && !isCompressed // nothing is appended to a compressed one
		if end, err = j.replaySegment(cfg, s, data, int64(headerLen), floor, isLast); err != nil {
			return 0, err
		}
	}
	if err := j.checkReached(floor); err != nil {
		return 0, err
	}
	j.synced = j.next - 1
	return end, nil
}

// replaySegment replays the records of one segment, whose bytes are data and whose records begin at offset at. Only in
// the last segment may an incomplete record end it; that tail is truncated, unless the journal is readOnly.
func (j *Journal) replaySegment(cfg Config, s segment, data []byte, at int64, floor Proof, isLast bool) (
	end int64, err error) {
	var parts []*Record
	opStart, line := at, 1
	j.lastGroupOffset = 0
	for {
		line++
		raw, good := nextRecordLine(data[at:], j.next)
		if !good {
			break
		}
		if len(parts) == 0 {
			opStart = at
		}
		h, _ := parseRecordHead(raw)
		if line == 2 {
			j.lastGroupOffset = 0
		} else if h.group == h.lsn {
			j.lastGroupOffset = at
		}
		at += int64(len(raw)) + 1
		j.next++
		if h.last() <= cfg.After {
			continue
		}
		rec, err := decodeLine(raw)
		if errors.Is(err, memory.ErrNewerVersion) {
			return 0, fmt.Errorf("%s line %d: %w", s.name, line, err)
		}
		if err != nil {
			return 0, &CorruptError{File: s.name, Line: line, Detail: "its CRC is right but it does not decode: " +
				err.Error()}
		}
		parts = append(parts, rec)
		j.bytes += int64(len(raw)) + 1
		if rec.LSN < rec.Last() {
			continue
		}
		if err := cfg.Replay(joinParts(parts)); err != nil {
			return 0, fmt.Errorf("replay %s line %d: %w", s.name, line, err)
		}
		parts = nil
	}
	if len(parts) == 0 && allZero(data[at:]) {
		return at, nil
	}
	if detail := diagnoseTail(data[at:], j.next, floor); detail != "" || !isLast {
		if detail == "" {
			detail = "its line is incomplete, but a later segment exists"
		}
		return 0, &CorruptError{File: s.name, Line: line, Detail: detail}
	}
	if len(parts) > 0 {
		at, j.next = opStart, parts[0].LSN
	}
	if j.readOnly {
		return at, nil
	}
	if err := j.checkReached(floor); err != nil {
		return 0, err // before the tail is touched
	}
	return at, j.truncateTail(s, data, at)
}

// checkReached returns a *CorruptError when the records end before floor.
func (j *Journal) checkReached(floor Proof) error {
	if end := j.next - 1; end < floor.LSN {
		return &CorruptError{File: j.lastSegment().name, Detail: floor.contradicts(end)}
	}
	return nil
}

// nextRecordLine returns the first line of data, without its newline, and whether it is the whole record with LSN want.
func nextRecordLine(data []byte, want int64) ([]byte, bool) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 || !durable.ValidLine(data[:end]) {
		return nil, false
	}
	h, ok := parseRecordHead(data[:end])
	return data[:end], ok && h.lsn == want
}

// scanGoodLines returns the heads of all records with LSN min or more whose checksum is right, whatever is between
// them.
func scanGoodLines(data []byte, min int64) []recordHead {
	var out []recordHead
	for piece := range bytes.SplitSeq(data, []byte{'\n'}) {
		piece = bytes.TrimLeft(piece, "\x00")
		if !durable.ValidLine(piece) {
			continue
		}
		if h, ok := parseRecordHead(piece); ok && h.lsn >= min {
			out = append(out, h)
		}
	}
	return out
}

// diagnoseTail applies the tail rule to rest, which begins with a line that is not the whole record want. It returns
// "" when rest can only be the torn tail of the last group, else why acknowledged data is missing:
//
//   - floor proves that want was acknowledged.
//   - a later whole record belongs to a later group. Groups are synced one after the other, so the group of want was
//     durable before that one was written.
func diagnoseTail(rest []byte, want int64, floor Proof) string {
	if want <= floor.LSN {
		return fmt.Sprintf("record %d is not whole, but %s proves that operation %d was acknowledged", want, floor.File,
			floor.LSN)
	}
	for _, h := range scanGoodLines(rest, want) {
		if h.group > want {
			return fmt.Sprintf("record %d is not whole, but record %d was written after it had been acknowledged", want,
				h.lsn)
		}
	}
	return ""
}

// truncateTail copies the torn bytes behind offset at to the quarantine and removes them from the segment. Durable on
// return.
func (j *Journal) truncateTail(s segment, data []byte, at int64) error {
	// Zeros are the preallocated rest of the segment.
	torn := bytes.TrimRight(data[at:], "\x00")
	if err := makeDir(j.fs, quarantineDir); err != nil {
		return err
	}
	name := fmt.Sprintf("%s/torn-%s-%d.bin", quarantineDir, strings.TrimSuffix(path.Base(s.name), ".jsonl"), at)
	if err := writeFile(j.fs, name, torn); err != nil {
		// Nothing is cut before its copy is durable.
		return fmt.Errorf("copy the torn tail of %s to quarantine: %w", s.name, err)
	}
	f, err := j.fs.OpenFile(s.name, os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("truncate torn tail: %w", err)
	}
	err = f.Truncate(at)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("truncate torn tail of %s: %w", s.name, err)
	}
	j.log.Warn("removed a torn write from the end of the journal; it had not been acknowledged", "file", s.name,
		"bytes", len(torn),
		"copy", name)
	return nil
}

// replaceHeader gives the last segment, which has no records, a header of the present format. It returns the header's
// length. Durable on return.
func (j *Journal) replaceHeader() (end int64, err error) {
	line, err := durable.AppendLine(nil, j.headerAt(j.next))
	if err != nil {
		return 0, err
	}
	return int64(len(line)), writeFile(j.fs, j.lastSegment().name, line)
}

// openForAppend opens the last segment for writing behind offset end. clean says that the journal was closed at this
// very LSN; otherwise the last group is written again.
func (j *Journal) openForAppend(end int64, clean bool) error {
	s := j.lastSegment()
	if err := j.decompress(s); err != nil {
		return fmt.Errorf("open %s: %w", s.name, err)
	}
	f, err := j.fs.OpenFile(s.name, os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.name, err)
	}
	if !clean {
		err = rewriteLastGroup(f, j.lastGroupOffset, end)
	}
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr); err != nil {
		_ = f.Close()
		return fmt.Errorf("open %s: %w", s.name, err)
	}
	j.file, j.fileInfo, j.appendEnd, j.allocated = f, info, end, info.Size()
	return nil
}

// rewriteLastGroup makes durable the group at [at, end) that recovery has just read. The bytes may exist in the page
// cache only: the previous process may have died before its sync. And if that sync failed, the kernel considers the
// pages clean and never writes them, so a sync alone would succeed without effect (Rebello et al. 2020). Writing the
// same bytes again makes the pages dirty.
func rewriteLastGroup(f durable.File, at, end int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	last := make([]byte, end-at)
	if _, err := f.ReadAt(last, at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	// The longer size forces the inode to be written too. On a full disk the size stays as it is: it was allocated, and
	// synced, before the group was written.
	if err := f.Allocate(info.Size() + 1); err != nil && !durable.IsDiskFull(err) {
		return err
	}
	if _, err := f.WriteAt(last, at); err != nil {
		return err
	}
	return f.Sync()
}

// segmentOf returns the index of the segment that holds lsn, the last one for a later LSN. The caller holds mu, or is
// Open.
func (j *Journal) segmentOf(lsn int64) int {
	i := len(j.segments) - 1
	for i > 0 && j.segments[i].first > lsn {
		i--
	}
	return i
}

// errTrimmed is a memory.ErrTrimmed that names the oldest operation kept.
func errTrimmed(lsn, first int64) error {
	return fmt.Errorf("operation %d: %w; the oldest one kept is %d", lsn, memory.ErrTrimmed, first)
}
