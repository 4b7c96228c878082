package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// Check reads every segment and returns all damage it finds, nil when there is none. Open refuses the same damage
// behind after, and gaps before it, and nothing else. The torn tail of a daemon that was killed is not damage. store is
// the identity that the segments must have, "" for that of the first one.
//
// proofs are what files outside the journal prove, as for Open. Check changes nothing. Beside a running daemon it must
// read a copy.
func Check(fsys durable.FS, store string, after int64, proofs ...Proof) ([]*CorruptError, error) {
	var found []*CorruptError
	segments, err := listSegments(fsys)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	proofs, _, err = collectProofs(fsys, store, after, segments, proofs)
	if c, ok := errors.AsType[*CorruptError](err); ok {
		found = append(found, c)
	} else if err != nil {
		return nil, err
	}
	floor := strongest(proofs)
	c := checker{fs: fsys, store: store, floor: floor, found: found}
	if len(segments) == 0 {
		if floor.LSN > after {
			c.found = append(c.found, noSegment(floor))
		}
		return c.found, nil
	}
	// Older segments are trimmed once a snapshot holds them; a gap to the snapshot is lost data.
	if first := segments[0]; first.first > after+1 {
		c.add(first.name, 0, "the journal starts at %d, but what lies between %d and there is in no snapshot",
			first.first, after)
	}
	next := segments[0].first
	for i, s := range segments {
		if s.first != next {
			c.add(s.name, 0, "it starts at %d; the segment before ends at %d", s.first, next-1)
		}
		last, err := c.segment(s, i == len(segments)-1)
		if err != nil {
			return c.found, err
		}
		next = last + 1
	}
	if next-1 < floor.LSN {
		c.add(segments[len(segments)-1].name, 0, "%s", floor.contradicts(next-1))
	}
	return c.found, nil
}

// checker collects the damage of all segments. store is "" until the first segment was read. floor
// proves what was acknowledged.
type checker struct {
	fs    durable.FS
	store string // "" until the first segment
	floor Proof
	found []*CorruptError
}

// add notes a fault and lets the check go on: a person wants all of them at once.
func (c *checker) add(file string, line int, format string, args ...any) {
	c.found = append(c.found, &CorruptError{File: file, Line: line, Detail: fmt.Sprintf(format, args...)})
}

// segment adds the damage of one segment and returns the LSN of its last good record. Behind damage it continues with
// the next good record.
func (c *checker) segment(s segment, isLast bool) (last int64, err error) {
	data, isCompressed, err := readSegmentFile(c.fs, s.name)
	last = s.first - 1
	if err != nil {
		return last, err
	}
	isLast = isLast && !isCompressed // nothing is appended to a compressed one
	at, h, err := parseHeader(s, data)
	if damage, ok := errors.AsType[*CorruptError](err); ok {
		if isLast && s.first > c.floor.LSN && len(scanGoodLines(data, s.first)) == 0 {
			return last, nil
		}
		c.found = append(c.found, damage)
		at = bytes.IndexByte(data, '\n') + 1
	} else if err != nil {
		return last, err
	}
	if c.store == "" {
		c.store = h.Store
	}
	if h.Store != "" && h.Store != c.store {
		c.add(s.name, 1, "it belongs to store %s, not to %s", h.Store, c.store)
	}
	for line := 2; ; line++ {
		raw, good := nextRecordLine(data[at:], last+1)
		if good {
			at += len(raw) + 1
			last++
			continue
		}
		if allZero(data[at:]) {
			return last, nil
		}
		detail := diagnoseTail(data[at:], last+1, c.floor)
		if detail == "" && !isLast {
			detail = "its line is incomplete, but a later segment exists"
		}
		if detail == "" {
			return last, nil
		}
		c.add(s.name, line, "%s", detail)
		later := scanGoodLines(data[at:], last+2)
		if len(later) == 0 {
			return last, nil
		}
		skip := bytes.Index(data[at:], fmt.Appendf(nil, `{"lsn":%d,`, later[0].lsn))
		if skip < 0 { // the line parses, but the daemon does not write numbers like that
			return last, nil
		}
		line += bytes.Count(data[at:at+skip], []byte{'\n'}) - 1
		at, last = at+skip, later[0].lsn-1
	}
}

// Scan reads the operations behind after, oldest first, without changing anything. It skips a torn tail. It returns the
// LSN of the last whole record. store is the identity that the segments must have, "" for that of the first one.
func Scan(fsys durable.FS, store string, after int64, fn func(*Record) error) (last int64, err error) {
	j := &Journal{fs: fsys, origin: store, readOnly: true}
	if j.segments, err = listSegments(fsys); errors.Is(err, fs.ErrNotExist) || err == nil && len(j.segments) == 0 {
		return after, nil
	}
	if err != nil {
		return 0, err
	}
	if first := j.segments[0].first; first > after+1 {
		after = first - 1
	}
	if _, err := j.replay(Config{FS: fsys, After: after, Replay: fn}, Proof{}); err != nil {
		return 0, err
	}
	return j.synced, nil
}

// FirstKept is the LSN at which the oldest segment begins, 1 for an empty journal.
func FirstKept(fsys durable.FS) (int64, error) {
	segments, err := listSegments(fsys)
	if err != nil || len(segments) == 0 {
		return 1, err
	}
	return segments[0].first, nil
}
