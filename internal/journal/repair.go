package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// ActorRepair writes the empty records that stand where damaged ones were.
const ActorRepair = "repair"

// Check reads every segment and returns all damage it finds, nil when there is none. The torn tail of a daemon that was killed is not
// damage. It changes nothing and may run beside a daemon only on a copy.
func Check(fsys durable.FS, after int64) ([]*CorruptError, error) {
	segments, err := listSegments(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mark, err := readMark(fsys)
	if err != nil {
		if c, ok := errors.AsType[*CorruptError](err); ok {
			return []*CorruptError{c}, nil
		}
		return nil, err
	}
	var found []*CorruptError
	next, floor := int64(0), max(after, mark)
	for i, s := range segments {
		if next > 0 && s.first != next {
			found = append(found, &CorruptError{File: s.name, Detail: fmt.Sprintf("it starts at %d; the segment before ends at %d", s.first, next-1)})
		}
		damaged, end, err := checkSegment(fsys, s, floor, i == len(segments)-1)
		if err != nil {
			return found, err
		}
		found = append(found, damaged...)
		next = end + 1
	}
	if len(segments) > 0 && next-1 < floor {
		found = append(found, &CorruptError{File: segments[len(segments)-1].name, Detail: fmt.Sprintf("it ends at %d, but %d had been acknowledged", next-1, floor)})
	}
	return found, nil
}

// checkSegment returns the damage of one segment and the LSN of its last good record.
func checkSegment(fsys durable.FS, s segment, floor int64, isLast bool) (found []*CorruptError, last int64, err error) {
	data, at, _, err := readSegment(fsys, s)
	last = s.first - 1
	if c, ok := errors.AsType[*CorruptError](err); ok {
		if isLast && s.first > floor && len(goodLines(data, s.first)) == 0 {
			return nil, last, nil
		}
		found = append(found, c)
	} else if err != nil {
		return nil, last, err
	}
	for line := 2; ; line++ {
		raw, good := nextGood(data[at:], last+1)
		if good {
			at += len(raw) + 1
			last++
			continue
		}
		if allZero(data[at:]) {
			return found, last, nil
		}
		detail := damage(data[at:], last+1, floor)
		if detail == "" && !isLast {
			detail = "its line is not whole, and there is a later segment"
		}
		if detail == "" {
			return found, last, nil
		}
		found = append(found, &CorruptError{File: s.name, Line: line, Detail: detail})
		later := goodLines(data[at:], last+2)
		if len(later) == 0 {
			return found, last, nil
		}
		skip := bytes.Index(data[at:], fmt.Appendf(nil, `{"lsn":%d,`, later[0].lsn))
		line += bytes.Count(data[at:at+skip], []byte{'\n'}) - 1
		at, last = at+skip, later[0].lsn-1
	}
}

// Repair copies every damaged segment to quarantine and rewrites it with the good records in their places and an empty record by
// ActorRepair in the place of each that is lost, so that numbers stay and an operation is never half there. It returns what it did, one
// line each. A journal without damage is left alone.
func Repair(fsys durable.FS, after int64, now time.Time) ([]string, error) {
	found, err := Check(fsys, after)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	mark, err := readMark(fsys)
	if err != nil { // the mark itself: without it the journal is taken as it is
		mark = 0
		if err := Quarantine(fsys, markFile, now); err != nil {
			return nil, err
		}
		if err := fsys.Remove(markFile); err != nil {
			return nil, fmt.Errorf("repair: %w", err)
		}
	}
	segments, err := listSegments(fsys)
	if err != nil {
		return nil, err
	}
	r := repairer{fs: fsys, now: now}
	for i, s := range segments {
		upTo := max(after, mark)
		if i < len(segments)-1 {
			upTo = segments[i+1].first - 1
		}
		damaged := slices.ContainsFunc(found, func(c *CorruptError) bool { return c.File == s.name })
		if damaged {
			if err := r.rewrite(s, upTo); err != nil {
				return r.report, err
			}
		}
	}
	return r.report, nil
}

type repairer struct {
	fs     durable.FS
	now    time.Time
	report []string
}

// rewrite replaces segment s by its good whole operations and fillers, up to LSN upTo at least.
func (r *repairer) rewrite(s segment, upTo int64) error {
	data, err := durable.ReadFile(r.fs, s.name)
	if err != nil {
		return fmt.Errorf("repair: read %s: %w", s.name, err)
	}
	if err := Quarantine(r.fs, s.name, r.now); err != nil {
		return err
	}
	good, store := goodRecords(data, s.first)
	if store == "" {
		if store, err = anyStore(r.fs); err != nil {
			return err
		}
	}
	last := upTo
	for lsn := range good {
		last = max(last, lsn)
	}
	lost := 0
	err = durable.WriteFile(r.fs, s.name, func(w io.Writer) error {
		lost, err = writeRepaired(w, s.first, last, store, good, r.now)
		return err
	})
	if err != nil {
		return fmt.Errorf("repair %s: %w", s.name, err)
	}
	r.report = append(r.report, fmt.Sprintf("%s: kept %d records, lost %d; the damaged file is in %s", s.name, int(last-s.first+1)-lost, lost, quarantineDir))
	return nil
}

// goodRecords returns the good lines of data by LSN, without those of operations that are not whole, and the store of the header.
func goodRecords(data []byte, first int64) (map[int64][]byte, string) {
	lines := map[int64][]byte{}
	store := ""
	for piece := range bytes.SplitSeq(data, []byte{'\n'}) {
		piece = bytes.TrimLeft(piece, "\x00")
		if !durable.LineGood(piece) {
			continue
		}
		if h, ok := parseHead(piece); ok && h.lsn >= first {
			lines[h.lsn] = piece
			if rec, err := decodeLine(piece); err == nil {
				store = rec.Origin
			}
		}
	}
	for lsn, line := range lines {
		h, _ := parseHead(line)
		for p := h.op; p <= h.last(); p++ {
			if _, ok := lines[p]; !ok {
				delete(lines, lsn)
			}
		}
	}
	return lines, store
}

// anyStore finds the store's identity in any readable segment.
func anyStore(fsys durable.FS) (string, error) {
	segments, err := listSegments(fsys)
	if err != nil {
		return "", err
	}
	for _, s := range segments {
		if _, _, store, err := readSegment(fsys, s); err == nil {
			return store, nil
		}
	}
	return "", fmt.Errorf("repair: no segment says which store it belongs to: %w", memory.ErrCorrupt)
}

func writeRepaired(w io.Writer, first, last int64, store string, good map[int64][]byte, now time.Time) (lost int, err error) {
	line, err := durable.AppendLine(nil, header{Kind: "journal", Version: Version, Store: store, First: first})
	if err != nil {
		return 0, err
	}
	if _, err := w.Write(line); err != nil {
		return 0, err
	}
	for lsn := first; lsn <= last; lsn++ {
		line, ok := good[lsn]
		if ok {
			line = append(slices.Clone(line), '\n')
		} else {
			lost++
			filler := Record{LSN: lsn, Group: lsn, Op: lsn, At: now, Origin: store, Space: memory.DefaultSpace, Actor: ActorRepair, Reason: "the record was damaged; its bytes are in quarantine"}
			if line, err = durable.AppendLine(nil, &filler); err != nil {
				return lost, err
			}
		}
		if _, err := w.Write(line); err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// Quarantine copies a file to the quarantine directory. Durable on return.
func Quarantine(fsys durable.FS, name string, now time.Time) error {
	data, err := durable.ReadFile(fsys, name)
	if err != nil {
		return fmt.Errorf("quarantine %s: %w", name, err)
	}
	if err := makeDir(fsys, quarantineDir); err != nil {
		return err
	}
	to := fmt.Sprintf("%s/%s-%s", quarantineDir, now.UTC().Format("20060102T150405"), path.Base(name))
	if err := writeWhole(fsys, to, data); err != nil {
		return fmt.Errorf("quarantine %s: %w", name, err)
	}
	return nil
}

// Scan reads the operations behind after, oldest first, without changing anything: a torn tail is passed over. It returns the LSN of the last
// whole record. store is the identity the segments must carry, "" for that of the first.
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
	if _, err := j.replay(Config{FS: fsys, After: after, Replay: fn}, 0); err != nil {
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
