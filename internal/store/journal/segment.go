package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

var errNotExist = fs.ErrNotExist

// segmentName is the path of the segment whose first record has LSN first. The 16 digits sort like the numbers.
func segmentName(first int64) string { return fmt.Sprintf("%s/%016d.jsonl", dir, first) }

// listSegments returns the segments on disk, oldest first. Other files are ignored.
func listSegments(fsys durable.FS) ([]segment, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list journal: %w", err)
	}
	var out []segment
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if !ok || len(digits) != 16 {
			continue
		}
		first, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || first < 1 {
			continue
		}
		out = append(out, segment{name: dir + "/" + e.Name(), first: first})
	}
	slices.SortFunc(out, func(a, b segment) int { return int(a.first - b.first) })
	return out, nil
}

// errNoSpace says that the disk was too full for a new segment and that nothing is left of the attempt. A failed sync
// is never an errNoSpace, not even for want of space: what it leaves is unknown.
var errNoSpace = errors.New("no space for another segment")

// createSegment creates an empty segment with header h and allocates size bytes behind the header. used is the length
// of the header. Durable on return, with its name.
func createSegment(fsys durable.FS, h header, size int64) (f durable.File, used int64, err error) {
	name := segmentName(h.First)
	f, err = fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if durable.IsDiskFull(err) {
		err = fmt.Errorf("%w: %w", errNoSpace, err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("create %s: %w", name, err)
	}
	line, err := durable.AppendLine(nil, h)
	if err == nil {
		// Allocated before the header is written: a segment on a full disk is empty and can simply be removed.
		err = f.Allocate(int64(len(line)) + size)
	}
	if err == nil {
		_, err = f.WriteAt(line, 0)
	}
	if durable.IsDiskFull(err) {
		err = fmt.Errorf("%w: %w", errNoSpace, err)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("create %s: %w", name, discardSegment(fsys, f, name, err))
	}
	return f, int64(len(line)), nil
}

// discardSegment removes a segment that could not be created because of err. Durable on return: an empty segment behind
// the present one must not reappear after a crash. The result is an errNoSpace only when err is one and the removal
// succeeded.
func discardSegment(fsys durable.FS, f durable.File, name string, err error) error {
	_ = f.Close()
	removeErr := fsys.Remove(name)
	if removeErr == nil {
		removeErr = fsys.SyncDir(dir)
	}
	if removeErr != nil {
		return fmt.Errorf("%s; removing it: %w", err.Error(), removeErr)
	}
	return err
}

// rollLocked continues in a new segment. On a full disk the present one goes on growing, and the result is an
// errNoSpace. The caller is the flusher. mu is released during the I/O.
func (j *Journal) rollLocked() error {
	first := j.synced + 1
	name, allocated := segmentName(first), max(j.chunk, reservedBytes)
	old, oldUsed := j.file, j.appendEnd
	j.mu.Unlock()
	f, used, err := createSegment(j.fs, j.headerAt(first), allocated)
	allocated += used
	var info fs.FileInfo
	if err == nil {
		if info, err = f.Stat(); err != nil {
			err = fmt.Errorf("create %s: %w", name, discardSegment(j.fs, f, name, err))
		}
	}
	j.mu.Lock()
	if err == nil && j.pending != nil { // Stage allocated its space in the old segment; it needs it in the new one
		if need := used + int64(len(j.pending.buf)) + reservedBytes; need > allocated {
			allocated = need
			if err = f.Allocate(need); durable.IsDiskFull(err) {
				err = fmt.Errorf("%w: %w", errNoSpace, err)
			}
			if err != nil {
				err = fmt.Errorf("create %s: %w", name, discardSegment(j.fs, f, name, err))
			}
		}
	}
	if err != nil {
		if !errors.Is(err, errNoSpace) {
			j.failLocked(err)
		}
		return err
	}
	j.file, j.fileInfo, j.appendEnd, j.allocated = f, info, used, allocated
	j.segments = append(j.segments, segment{name: name, first: first})
	j.mu.Unlock()
	if j.highWater != nil {
		_ = j.highWater.Datasync()
	}
	// Errors do not matter: readers take zeros as the end of a segment.
	if err := old.Truncate(oldUsed); err == nil {
		_ = old.Sync()
	}
	_ = old.Close()
	j.mu.Lock()
	return nil
}

// readSegmentFile returns the lines of a segment's file, decompressed, whatever state they are in.
func readSegmentFile(fsys durable.FS, name string) (lines []byte, isCompressed bool, err error) {
	if lines, err = durable.ReadFile(fsys, name); err != nil {
		return nil, false, fmt.Errorf("read %s: %w", name, err)
	}
	if compressed.Is(lines) {
		return compressed.Decompress(lines), true, nil
	}
	return lines, false, nil
}

// readSegment returns a whole segment, its header and the header's length. Errors: *CorruptError for a damaged header,
// with data; memory.ErrNewerVersion.
func readSegment(fsys durable.FS, s segment) (data []byte, headerLen int, h header, err error) {
	if data, _, err = readSegmentFile(fsys, s.name); err != nil {
		return nil, 0, h, err
	}
	headerLen, h, err = parseHeader(s, data)
	return data, headerLen, h, err
}

// parseHeader decodes the header of a segment with these lines, and returns its length. Errors: those of readSegment.
func parseHeader(s segment, data []byte) (length int, h header, err error) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 || !durable.ValidLine(data[:end]) {
		return 0, h, &CorruptError{File: s.name, Line: 1, Detail: "its header is unreadable"}
	}
	if err := json.Unmarshal(data[:end], &h); err != nil || h.Kind != "journal" || h.First != s.first {
		return 0, header{}, &CorruptError{File: s.name, Line: 1, Detail: "its header is not that of this segment"}
	}
	if err := h.Check(s.name); err != nil {
		return 0, header{}, err
	}
	if err := durable.DecodeLine(data[:end], new(header)); err != nil {
		return 0, header{}, fmt.Errorf("%s line 1: %w", s.name, err)
	}
	return end + 1, h, nil
}

// writeFile replaces a file by data. Durable on return.
func writeFile(fsys durable.FS, name string, data []byte) error {
	return durable.WriteFile(fsys, name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// allZero reports whether b is the unused end of a segment. It compares eight bytes at a time: segments are megabytes
// long.
func allZero(b []byte) bool {
	for len(b) >= 8 {
		if b[0]|b[1]|b[2]|b[3]|b[4]|b[5]|b[6]|b[7] != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
