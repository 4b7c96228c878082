package journal

import (
	"bytes"
	"cmp"
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

// crampedLine is less than the length of any record's line.
const crampedLine = 64

// Repair copies every damaged segment to quarantine and rewrites it with the good records in their places and an empty record by
// ActorRepair in the place of each that is lost, so that numbers stay and an operation is never half there. It returns what it did, one
// line each. A journal without damage is left alone. store and after are those of the snapshot, as for Check.
func Repair(fsys durable.FS, store string, after int64, now time.Time) ([]string, error) {
	found, err := Check(fsys, store, after)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	segments, err := listSegments(fsys)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r := repairer{fs: fsys, store: store, now: now}
	reached, err := r.mark(len(segments) == 0)
	if err != nil || len(segments) == 0 {
		return r.report, err
	}
	if r.store == "" {
		if r.store, err = anyStore(fsys, segments); err != nil {
			return r.report, err
		}
	}
	if first := segments[0].first; first > after+1 {
		if err := r.write(segment{name: segmentName(after + 1), first: after + 1}, newHeader(r.store, after+1), first-1, nil, "it was missing"); err != nil {
			return r.report, err
		}
	}
	for i, s := range segments {
		damaged := slices.ContainsFunc(found, func(c *CorruptError) bool { return c.File == s.name })
		isLast, next := i == len(segments)-1, int64(0)
		if !isLast { // what is wrong with where the next one starts is put right at this one's end
			next = segments[i+1].first
			damaged = damaged || slices.ContainsFunc(found, func(c *CorruptError) bool { return c.File == segments[i+1].name && c.Line == 0 })
		}
		if !damaged {
			continue
		}
		if err := r.rewrite(s, next, max(after, reached)); err != nil {
			return r.report, err
		}
	}
	return r.report, nil
}

type repairer struct {
	fs     durable.FS
	store  string
	now    time.Time
	report []string
}

// mark returns the LSN of the mark. A damaged one, or one of a journal that is gone, is set aside.
func (r *repairer) mark(gone bool) (int64, error) {
	reached, err := readMark(r.fs)
	if err == nil && !gone {
		return reached, nil
	}
	if _, corrupt := errors.AsType[*CorruptError](err); err != nil && !corrupt {
		return 0, err
	}
	if err := Quarantine(r.fs, markFile, r.now); err != nil {
		return 0, err
	}
	if err := r.fs.Remove(markFile); err != nil {
		return 0, fmt.Errorf("repair: %w", err)
	}
	r.report = append(r.report, markFile+": set aside; the journal is taken as it is")
	return 0, r.fs.SyncDir(dir)
}

// rewrite replaces segment s by its good whole operations and fillers: up to LSN next-1, or, in the last segment (next is 0), up to reached at
// least.
func (r *repairer) rewrite(s segment, next, reached int64) error {
	data, err := durable.ReadFile(r.fs, s.name)
	if err != nil {
		return fmt.Errorf("repair: read %s: %w", s.name, err)
	}
	if err := Quarantine(r.fs, s.name, r.now); err != nil {
		return err
	}
	good := goodRecords(data, s.first, r.store)
	last := max(reached, s.first-1)
	for lsn := range good {
		last = max(last, lsn)
	}
	if next > 0 {
		last = next - 1
	}
	return r.write(s, headerIn(data, r.store, s.first), last, good, "the damaged file is in "+quarantineDir)
}

// write makes a segment of good records, and fillers where there is none.
func (r *repairer) write(s segment, h header, last int64, good map[int64][]byte, remark string) error {
	lost := 0
	err := durable.WriteFile(r.fs, s.name, func(w io.Writer) (err error) {
		lost, err = writeRepaired(w, h, last, good, r.now)
		return err
	})
	if err != nil {
		return fmt.Errorf("repair %s: %w", s.name, err)
	}
	r.report = append(r.report, fmt.Sprintf("%s: kept %d records, lost %d; %s", s.name, int(last-s.first+1)-lost, lost, remark))
	return nil
}

// goodRecords returns the good lines of data by LSN, without those of other stores and of operations that are not whole.
func goodRecords(data []byte, first int64, store string) map[int64][]byte {
	lines := map[int64][]byte{}
	most := first + int64(len(data)/crampedLine) // a number beyond was not written by the daemon, and all before it would have to be filled
	for piece := range bytes.SplitSeq(data, []byte{'\n'}) {
		piece = bytes.TrimLeft(piece, "\x00")
		if !durable.LineGood(piece) {
			continue
		}
		if h, ok := parseHead(piece); ok && h.lsn >= first && h.lsn <= most {
			if rec, err := decodeLine(piece); err == nil && storeOf(rec.Origin) == store {
				lines[h.lsn] = piece
			}
		}
	}
	for lsn, line := range lines {
		h, _ := parseHead(line)
		for p := h.op; p <= h.last(); p++ {
			if _, ok := lines[p]; !ok {
				delete(lines, lsn)
				break
			}
		}
	}
	return lines
}

// anyStore finds the store's identity in the first readable header, else in the first good record.
func anyStore(fsys durable.FS, segments []segment) (string, error) {
	origin := ""
	for _, s := range segments {
		data, _, h, err := readSegment(fsys, s)
		if err == nil {
			return h.Store, nil
		}
		for line := range bytes.SplitSeq(data, []byte{'\n'}) {
			if origin != "" {
				break
			}
			if line = bytes.TrimLeft(line, "\x00"); durable.LineGood(line) {
				if rec, err := decodeLine(line); err == nil {
					origin = storeOf(rec.Origin)
				}
			}
		}
	}
	if origin != "" {
		return origin, nil
	}
	return "", fmt.Errorf("repair: no segment says which store it belongs to: %w", memory.ErrCorrupt)
}

func writeRepaired(w io.Writer, h header, last int64, good map[int64][]byte, now time.Time) (lost int, err error) {
	line, err := durable.AppendLine(nil, h)
	if err != nil {
		return 0, err
	}
	if _, err := w.Write(line); err != nil {
		return 0, err
	}
	for lsn := h.First; lsn <= last; lsn++ {
		line, ok := good[lsn]
		if ok {
			line = append(slices.Clone(line), '\n')
		} else {
			lost++
			filler := Record{LSN: lsn, Group: lsn, Op: lsn, At: now, Origin: cmp.Or(h.Epoch, h.Store), Space: memory.DefaultSpace, Actor: ActorRepair, Reason: "the record was damaged; its bytes are in quarantine"}
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
