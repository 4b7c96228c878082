package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Extent is the beginning of a segment file: the bytes that hold records up to some LSN. A compressed one is whole.
type Extent struct {
	Name  string // relative to the data directory
	Bytes int64
}

// Extents returns the segments that hold the durable records up to last, oldest first, the newest one cut behind last.
// A backup copies these bytes. They never change, but the caller must keep Trim and Rewrite from running.
func (j *Journal) Extents(last int64) ([]Extent, error) {
	j.mu.Lock()
	segments := append([]segment(nil), j.segments...)
	j.mu.Unlock()
	var out []Extent
	for i, s := range segments {
		if s.first > last {
			break
		}
		end, whole := last, false
		if i+1 < len(segments) {
			end = min(last, segments[i+1].first-1)
			whole = end == segments[i+1].first-1
		}
		size, err := endOffset(j.fs, s, end, whole)
		if err != nil {
			return nil, err
		}
		out = append(out, Extent{Name: s.name, Bytes: size})
	}
	return out, nil
}

// endOffset returns where the line of record lsn ends in the file of a segment: at its end when that is compressed,
// which must be the last record then. Error: *CorruptError when the record is not there whole.
func endOffset(fsys durable.FS, s segment, lsn int64, isLast bool) (int64, error) {
	f, err := openSegment(fsys, s.name)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", s.name, err)
	}
	defer f.close()
	if f.compressed && !isLast {
		return 0, fmt.Errorf("read %s: it is compressed and cannot be cut behind record %d", s.name, lsn)
	}
	at, err := seek(f, lsn)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", s.name, err)
	}
	for r := bufio.NewReaderSize(io.NewSectionReader(f, at, f.size-at), 64<<10); ; {
		line, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read %s: %w", s.name, err)
		}
		at += int64(len(line))
		h, ok := parseRecordHead(line)
		if ok && h.lsn == lsn && durable.ValidLine(bytes.TrimSuffix(line, []byte{'\n'})) && err == nil {
			if f.compressed {
				return f.bytes, nil
			}
			return at, nil
		}
		// The end of the file, the preallocated rest, or a later record: it will not come any more.
		if err != nil || len(line) > 0 && line[0] == 0 || ok && h.lsn >= lsn {
			return 0, &CorruptError{File: s.name, Detail: fmt.Sprintf("record %d is not in it", lsn)}
		}
	}
}

// checkContiguous makes sure that the segments before index from, which are not replayed, join without a gap. A copy of
// the directory that was made while Trim ran may lack one in the middle.
func (j *Journal) checkContiguous(from int) error {
	for i := range from {
		last := j.segments[i+1].first - 1
		_, err := endOffset(j.fs, j.segments[i], last, true)
		var missing *CorruptError
		if errors.As(err, &missing) {
			missing.Detail = fmt.Sprintf("it does not hold record %d, and the next segment starts behind that", last)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
