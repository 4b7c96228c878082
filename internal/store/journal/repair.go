package journal

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// ActorRepair is the actor of the empty records that replace lost ones.
const ActorRepair = "repair"

// minLineLength is a lower bound of the length of a record's line, in bytes.
const minLineLength = 64

// maxPlaceholders limits by how many operations a proof may exceed the journal. Each lost one needs a placeholder of
// about 200 bytes.
const maxPlaceholders = 1 << 20

// Repair copies every damaged segment to the quarantine and rewrites it: good records keep their places, and an empty
// record by ActorRepair replaces each lost one. So numbers stay, and an operation is either whole or gone. It returns
// what it did, one line each. It leaves a journal without damage alone. store, after and proofs are as for Check.
//
// Without a snapshot and without any segment, or any readable line in the segments, nothing is left to repair: these
// and the files that prove that there was a journal are moved to the quarantine, and a new journal begins.
func Repair(fsys durable.FS, store string, after int64, now time.Time, proofs ...Proof) ([]string, error) {
	found, err := Check(fsys, store, after, proofs...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	segments, err := listSegments(fsys)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r := repairer{fs: fsys, store: store, now: now}
	all, reached, err := collectProofs(fsys, store, after, segments, proofs)
	_, corrupt := errors.AsType[*CorruptError](err)
	if err != nil && !corrupt {
		return nil, err
	}
	proof := strongest(all)
	if r.store == "" && len(segments) > 0 {
		r.store, err = findStoreID(fsys, segments)
	}
	if after == 0 && (len(segments) == 0 || err != nil) {
		return r.beginAnew(segments)
	}
	if corrupt {
		if err := r.setAside(cleanStopFile, dir); err != nil {
			return r.report, err
		}
	}
	reached = max(reached, proof.LSN)
	if err := r.checkPlausible(segments, after, proof); err != nil {
		return r.report, err
	}
	if len(segments) == 0 {
		if err := makeDir(fsys, dir); err != nil {
			return r.report, err
		}
		h := newHeader(r.store, after+1)
		// Numbers behind the placeholders may have been given out before.
		h.Epoch = newEpoch(r.store, strings.ToLower(rand.Text()[:12]))
		err := r.write(segment{name: segmentName(h.First), first: h.First}, h, reached, nil, "every segment was missing")
		return r.report, err
	}
	if first := segments[0].first; first > after+1 {
		if err := r.write(segment{name: segmentName(after + 1), first: after + 1}, newHeader(r.store, after+1), first-1,
			nil, "it was missing"); err != nil {
			return r.report, err
		}
	}
	for i, s := range segments {
		damaged := slices.ContainsFunc(found, func(c *CorruptError) bool { return c.File == s.name })
		isLast, next := i == len(segments)-1, int64(0)
		if !isLast { // a gap before the next segment is filled at the end of this one
			next = segments[i+1].first
			damaged = damaged || slices.ContainsFunc(found, func(c *CorruptError) bool {
				return c.File == segments[i+1].name && c.Line == 0
			})
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

// repairer rewrites segments. report is what it did, one line each, for people.
type repairer struct {
	fs     durable.FS
	store  string
	now    time.Time
	report []string
}

// beginAnew moves segments of which no line is readable, and what proves that there was a journal, to the quarantine.
// The proofs go last: until then a start is refused, whatever a crash leaves of the rest.
func (r *repairer) beginAnew(segments []segment) ([]string, error) {
	for _, s := range segments {
		if err := Quarantine(r.fs, s.name, r.now); err != nil {
			return r.report, err
		}
		if err := r.fs.Remove(s.name); err != nil {
			return r.report, fmt.Errorf("repair: %w", err)
		}
		r.report = append(r.report, s.name+": moved to quarantine; no line of it is readable")
	}
	if len(segments) > 0 {
		if err := r.fs.SyncDir(dir); err != nil {
			return r.report, fmt.Errorf("repair: %w", err)
		}
	}
	return r.report, errors.Join(r.setAside(cleanStopFile, dir), r.setAside(HighWaterFile, proofDir),
		r.setAside(formerHighWaterFile, "."))
}

// setAside moves a file that proves how far the journal reached to the quarantine. in is its directory. A missing file
// is no error. Durable on return.
func (r *repairer) setAside(name, in string) error {
	if _, err := r.fs.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := Quarantine(r.fs, name, r.now); err != nil {
		return err
	}
	if err := r.fs.Remove(name); err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	r.report = append(r.report, name+": moved to quarantine; the end of the journal cannot be verified")
	return r.fs.SyncDir(in)
}

// checkPlausible refuses a proof that would need more placeholders than any real loss.
func (r *repairer) checkPlausible(segments []segment, after int64, proof Proof) error {
	from := after
	if len(segments) > 0 {
		from = max(from, segments[len(segments)-1].first)
	}
	if proof.LSN-from <= maxPlaceholders {
		return nil
	}
	return fmt.Errorf("repair: %s says that operation %d was acknowledged, but the journal ends near %d: %w; "+
		"if the file does not belong to this directory, move it away and repair again", proof.File, proof.LSN, from,
		memory.ErrCorrupt)
}

// rewrite replaces segment s by its whole operations and placeholders: up to LSN next-1, or, in the last segment (next
// is 0), at least up to reached.
func (r *repairer) rewrite(s segment, next, reached int64) error {
	data, _, err := readSegmentFile(r.fs, s.name)
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	if err := Quarantine(r.fs, s.name, r.now); err != nil {
		return err
	}
	good, err := wholeOperations(data, s.first, r.store)
	if err != nil {
		return fmt.Errorf("repair %s: %w", s.name, err)
	}
	last := max(reached, s.first-1)
	for lsn := range good {
		last = max(last, lsn)
	}
	if next > 0 {
		last = next - 1
	}
	return r.write(s, headerIn(data, r.store, s.first), last, good, "the damaged file is in "+quarantineDir)
}

// write creates a segment of the records in good, and placeholders for the other LSNs up to last.
func (r *repairer) write(s segment, h header, last int64, good map[int64][]byte, remark string) error {
	lost := 0
	err := durable.WriteFile(r.fs, s.name, func(w io.Writer) (err error) {
		lost, err = writeRepaired(w, h, last, good, r.now)
		return err
	})
	if err != nil {
		return fmt.Errorf("repair %s: %w", s.name, err)
	}
	r.report = append(r.report, fmt.Sprintf("%s: kept %d records, lost %d; %s", s.name, int(last-s.first+1)-lost, lost,
		remark))
	return nil
}

// wholeOperations returns the good lines of data by LSN, without those of other stores and those of incomplete
// operations. Error: memory.ErrNewerVersion; a record that this version does not know must not become a placeholder.
func wholeOperations(data []byte, first int64, store string) (map[int64][]byte, error) {
	lines := map[int64][]byte{}
	// So many records fit into the file. A higher number is forged or damaged, and would need as many placeholders.
	most := first + int64(len(data)/minLineLength)
	for piece := range bytes.SplitSeq(data, []byte{'\n'}) {
		piece = bytes.TrimLeft(piece, "\x00")
		if !durable.ValidLine(piece) {
			continue
		}
		if h, ok := parseRecordHead(piece); ok && h.lsn >= first && h.lsn <= most {
			rec, err := decodeLine(piece)
			if errors.Is(err, memory.ErrNewerVersion) {
				return nil, err
			}
			if err == nil && storeOf(rec.Origin) == store {
				lines[h.lsn] = piece
			}
		}
	}
	for lsn, line := range lines {
		h, _ := parseRecordHead(line)
		for p := h.op; p <= h.last(); p++ {
			if _, ok := lines[p]; !ok {
				delete(lines, lsn)
				break
			}
		}
	}
	return lines, nil
}

// findStoreID returns the store's identity from the first readable header, else from the first good record.
func findStoreID(fsys durable.FS, segments []segment) (string, error) {
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
			if line = bytes.TrimLeft(line, "\x00"); durable.ValidLine(line) {
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

// writeRepaired writes header h and the records h.First to last, and returns how many of them are placeholders.
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
			// A placeholder keeps the numbers without a gap: other records and published files refer to them.
			filler := Record{LSN: lsn, Group: lsn, Op: lsn, At: now, Origin: cmp.Or(h.Epoch, h.Store),
				Space: memory.DefaultSpace, Actor: ActorRepair,
				Reason: "the record was damaged; its bytes are in quarantine"}
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

// Quarantine copies a file to the quarantine directory; the copy's name begins with the time. Durable on return.
func Quarantine(fsys durable.FS, name string, now time.Time) error {
	data, err := durable.ReadFile(fsys, name)
	if err != nil {
		return fmt.Errorf("quarantine %s: %w", name, err)
	}
	if err := makeDir(fsys, quarantineDir); err != nil {
		return err
	}
	to := fmt.Sprintf("%s/%s-%s", quarantineDir, now.UTC().Format("20060102T150405"), path.Base(name))
	if err := writeFile(fsys, to, data); err != nil {
		return fmt.Errorf("quarantine %s: %w", name, err)
	}
	return nil
}
