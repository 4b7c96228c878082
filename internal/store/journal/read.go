package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Read yields the durable operations with from <= Op <= to, oldest first, each joined from its parts. It stops after
// the first error. Error: memory.ErrTrimmed when from is older than the history kept.
func (j *Journal) Read(from, to int64) iter.Seq2[*Record, error] { return j.read(from, to, decodeLine) }

// read is Read with another decoder of lines.
func (j *Journal) read(from, to int64, decode decoder) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for from <= to {
			s, isLast, synced, err := j.segmentFor(from)
			if err != nil {
				yield(nil, err)
				return
			}
			if from > synced {
				return
			}
			next, goOn := j.readOps(s, from, min(to, synced), decode, yield)
			if !goOn || isLast || next == from {
				return
			}
			from = next
		}
	}
}

// segmentFor finds the segment of lsn, and whether it is the last one. synced is the newest durable LSN. Error:
// memory.ErrTrimmed.
func (j *Journal) segmentFor(lsn int64) (s segment, isLast bool, synced int64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if lsn < j.segments[0].first && lsn <= j.synced {
		return s, false, 0, errTrimmed(lsn, j.segments[0].first)
	}
	i := j.segmentOf(lsn)
	return j.segments[i], i == len(j.segments)-1, j.synced, nil
}

// readOps yields the operations of one segment and returns the LSN to continue from. goOn is false when the consumer
// has stopped, or an error was yielded.
func (j *Journal) readOps(s segment, from, to int64, decode decoder, yield func(*Record, error) bool) (next int64,
	goOn bool) {
	f, err := openSegment(j.fs, s.name)
	if first := j.First(); errors.Is(err, errNotExist) && from < first {
		err = errTrimmed(from, first)
	}
	if err != nil {
		return from, yield(nil, fmt.Errorf("read %s: %w", s.name, err)) && false
	}
	defer f.close()
	at, err := seek(f, from)
	if err != nil {
		return from, yield(nil, fmt.Errorf("read %s: %w", s.name, err)) && false
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f, at, f.size-at), 64<<10)
	var parts []*Record
	for next = from; next <= to || len(parts) > 0; {
		rec, err := readRecord(r, next, decode)
		if errors.Is(err, io.EOF) {
			return next, true
		}
		if err != nil {
			return next, yield(nil, &CorruptError{File: s.name, Detail: fmt.Sprintf("record %d: %v", next, err)}) &&
				false
		}
		if rec == nil { // a line before the one looked for
			continue
		}
		next++
		if parts = append(parts, rec); rec.LSN < rec.Last() {
			continue
		}
		if parts[0].LSN == rec.Op && !yield(joinParts(parts), nil) {
			return next, false
		}
		parts = nil
	}
	return next, true
}

// readRecord reads one line. It returns nil for the header and for a record before want, io.EOF at the end of the
// segment.
func readRecord(r *bufio.Reader, want int64, decode decoder) (*Record, error) {
	line, err := r.ReadBytes('\n')
	if len(line) == 0 || line[0] == 0 || errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	line = line[:len(line)-1]
	h, ok := parseRecordHead(line)
	if ok && h.lsn < want || bytes.HasPrefix(line, []byte(`{"memsidecar"`)) {
		return nil, nil
	}
	if !ok || h.lsn != want || !durable.ValidLine(line) {
		return nil, errors.New("its line is incomplete or damaged")
	}
	return decode(line)
}

// seek returns the offset of a line at or shortly before the record with the given LSN, by binary search over the LSNs.
func seek(f *segmentFile, lsn int64) (int64, error) {
	const near = 32 << 10
	low, high := int64(0), f.size
	buf := make([]byte, 4<<10)
	for high-low > near {
		mid := low + (high-low)/2
		start, h, err := lineAfter(f, mid, high, buf)
		if err != nil {
			return 0, err
		}
		if start < 0 || h.lsn > lsn {
			high = mid
		} else {
			low = start
		}
	}
	return low, nil
}

// lineAfter finds the first record that begins behind offset at and before end; start is -1 when there is none. buf is
// scratch space.
func lineAfter(f *segmentFile, at, end int64, buf []byte) (start int64, h recordHead, err error) {
	const headLen = 128
	for pos := at; pos < end; {
		n, err := f.ReadAt(buf, pos)
		if n == 0 {
			if errors.Is(err, io.EOF) {
				return -1, h, nil
			}
			return -1, h, err
		}
		if buf[0] == 0 {
			return -1, h, nil
		}
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			start = pos + int64(i) + 1
			line := make([]byte, headLen)
			n, _ := f.ReadAt(line, start)
			if start >= end || n == 0 || line[0] == 0 {
				return -1, h, nil
			}
			h, ok := parseRecordHead(line[:n])
			if !ok { // it is being written, or damaged: search on from an earlier line
				return -1, h, nil
			}
			return start, h, nil
		}
		pos += int64(n)
	}
	return -1, h, nil
}

// Operation returns the whole operation that the record with this LSN belongs to. Errors: memory.ErrNotFound for a
// number that is not durable yet, memory.ErrTrimmed.
func (j *Journal) Operation(lsn int64) (*Record, error) {
	if lsn >= 1 && lsn <= j.Synced() {
		first := min(j.First(), lsn)
		// The first round finds every operation but one of which lsn is a later part; then search further back.
		for back := int64(0); back < maxParts; back = 2*back + 1 {
			for rec, err := range j.Read(max(lsn-back, first), lsn) {
				if err != nil {
					return nil, err
				}
				if rec.Op <= lsn && lsn <= rec.Last() {
					return rec, nil
				}
			}
		}
	}
	return nil, &memory.NotFoundError{Kind: "operation", Name: strconv.FormatInt(lsn, 10)}
}

// Backward is Read, newest first.
func (j *Journal) Backward(from, to int64) iter.Seq2[*Record, error] {
	return j.backward(from, to, decodeLine)
}

// Times is Backward for numbers and times: no other field of the records is set. It decodes nothing else.
func (j *Journal) Times(from, to int64) iter.Seq2[*Record, error] {
	return j.backward(from, to, decodeTime)
}

// backward reads windows of 256 records, because lines can only be parsed forward.
func (j *Journal) backward(from, to int64, decode decoder) iter.Seq2[*Record, error] {
	const window = 256
	return func(yield func(*Record, error) bool) {
		for high := min(to, j.Synced()); high >= from; {
			low := max(from, high-window+1)
			var ops []*Record
			for rec, err := range j.read(low, high, decode) {
				if err != nil {
					yield(nil, err)
					return
				}
				ops = append(ops, rec)
			}
			for _, rec := range slices.Backward(ops) {
				if !yield(rec, nil) {
					return
				}
			}
			high = low - 1
		}
	}
}
