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

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

var errNotExist = fs.ErrNotExist

func segmentName(first int64) string { return fmt.Sprintf("%s/%016d.jsonl", dir, first) }

// listSegments returns the segments on disk, oldest first.
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

// errNoSpace says that there was no room for a new segment; nothing is left of the attempt. A sync that fails, for want of space too, is
// another matter: what it leaves is unknown.
var errNoSpace = errors.New("no space for another segment")

// createSegment makes an empty, durable segment that is allocated to at least size bytes.
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
		return nil, 0, fmt.Errorf("create %s: %w", name, dropSegment(fsys, f, name, err))
	}
	return f, int64(len(line)), nil
}

// dropSegment takes back a segment that could not be made because of err, durably: the one before goes on, and an empty one behind it must not
// come back in a crash. The error is an errNoSpace only when that was possible.
func dropSegment(fsys durable.FS, f durable.File, name string, err error) error {
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

// rollLocked starts the next segment. Without space for it the present one goes on growing. The caller is the flusher;
// the lock is released meanwhile.
func (j *Journal) rollLocked() error {
	first := j.synced + 1
	name, allocated := segmentName(first), max(j.chunk, reserve)
	old, oldUsed := j.file, j.written
	j.mu.Unlock()
	f, used, err := createSegment(j.fs, j.headerAt(first), allocated)
	allocated += used
	j.mu.Lock()
	if err == nil && j.pending != nil { // what is staged has space in the old segment and needs it in the new one
		if need := used + int64(len(j.pending.buf)) + reserve; need > allocated {
			allocated = need
			if err = f.Allocate(need); durable.IsDiskFull(err) {
				err = fmt.Errorf("%w: %w", errNoSpace, err)
			}
			if err != nil {
				err = fmt.Errorf("create %s: %w", name, dropSegment(j.fs, f, name, err))
			}
		}
	}
	if err != nil {
		if !errors.Is(err, errNoSpace) {
			j.failLocked(err)
		}
		return err
	}
	j.file, j.written, j.allocated = f, used, allocated
	j.segments = append(j.segments, segment{name: name, first: first})
	j.mu.Unlock()
	// Only tidiness hangs on the cut: zeros at the end of a segment are read as its end.
	if err := old.Truncate(oldUsed); err == nil {
		_ = old.Sync()
	}
	_ = old.Close()
	j.mu.Lock()
	return nil
}

// readSegment returns a whole segment, its header and the header's length.
func readSegment(fsys durable.FS, s segment) (data []byte, headerLen int, h header, err error) {
	data, err = durable.ReadFile(fsys, s.name)
	if err != nil {
		return nil, 0, h, fmt.Errorf("read %s: %w", s.name, err)
	}
	end := bytes.IndexByte(data, '\n')
	if end < 0 || !durable.LineGood(data[:end]) {
		return data, 0, h, &CorruptError{File: s.name, Line: 1, Detail: "its header is unreadable"}
	}
	if err := json.Unmarshal(data[:end], &h); err != nil || h.Kind != "journal" || h.First != s.first {
		return data, 0, header{}, &CorruptError{File: s.name, Line: 1, Detail: "its header is not that of this segment"}
	}
	if h.Version > Version {
		return data, 0, header{}, fmt.Errorf("%s has format %d, this memsidecar knows %d: %w", s.name, h.Version, Version, memory.ErrNewerVersion)
	}
	return data, end + 1, h, nil
}

func writeWhole(fsys durable.FS, name string, data []byte) error {
	return durable.WriteFile(fsys, name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

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
