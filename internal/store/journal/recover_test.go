package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestTornGroup loses each page, and each pair of pages, of a group of several records that was never acknowledged:
// the journal opens with everything before, a beginning of the group, and no operation of several parts half.
func TestTornGroup(t *testing.T) {
	fs := crashfs.New()
	cfg := config(fs, nil)
	cfg.SegmentSize = 32 << 10 // operations are split at 4 KiB
	j := open(t, cfg)
	fill(t, j, 3)
	before := int64(bytes.LastIndexByte(read(t, fs, first), '\n')) + 1
	group(t, j, record(4, 100), long(4, 3000), record(6, 5000), record(7, 10))
	whole := read(t, fs, first)
	end := int64(bytes.LastIndexByte(whole, '\n')) + 1
	pages := int(end-1)/4096 - int(before)/4096 + 1
	if pages < 5 {
		t.Fatalf("the group is on %d pages only", pages)
	}
	for lost := 1; lost < 1<<pages; lost++ {
		torn := bytes.Clone(whole)
		for p := range pages {
			if lost&(1<<p) == 0 {
				continue
			}
			from := max(before, (before/4096+int64(p))*4096)
			clear(torn[from:min(end, (before/4096+int64(p)+1)*4096)])
		}
		fs := crashfs.New()
		if err := fs.WriteRaw(first, torn); err != nil {
			t.Fatal(err)
		}
		var got []*journal.Record
		cfg := config(fs, &got)
		cfg.SegmentSize = 32 << 10
		j, err := journal.Open(cfg)
		if err != nil {
			t.Fatalf("pages %b lost: %v", lost, err)
		}
		if lsn := j.Synced(); lsn != 3 && lsn != 4 && lsn != 8 && lsn != 9 && lsn != 10 {
			t.Fatalf("pages %b lost: recovered to %d, in the middle of an operation", lost, lsn)
		}
		for _, rec := range got {
			if rec.Parts > 0 && len(rec.Changes) != 4 {
				t.Fatalf("pages %b lost: operation %d has %d changes of 4", lost, rec.Op, len(rec.Changes))
			}
		}
		group(t, j, record(100, 0))
		if found, err := journal.Check(crash(fs), "", 0); err != nil || len(found) > 0 {
			t.Fatalf("pages %b lost: check: %v %v", lost, found, err)
		}
	}
}

// damaged is a way to damage a journal of 3 segments with a clean stop at the end.
type damaged struct {
	name   string
	damage func(t *testing.T, fs *crashfs.FS)
	after  int64
	file   string // "" when it opens
	line   int
	detail string
	kept   int // records after repair, fillers not counted
	lost   int // fillers
}

var damages = []damaged{
	{name: "nothing", kept: 30},
	{name: "flip in the first segment", damage: flipAt(0, 5), file: "0", line: 5, detail: "record 4 is not whole",
		kept: 29, lost: 1},
	{name: "flip in the middle segment", damage: flipAt(1, 2), file: "1", line: 2, detail: "is not whole", kept: 29,
		lost: 1},
	{name: "two flips", damage: both(flipAt(0, 2), flipAt(0, 4)), file: "0", line: 2, detail: "record 1 is not whole",
		kept: 28, lost: 2},
	{name: "flip below the mark, last record", damage: flipAt(2, -1), file: "2",
		detail: "record 30 is not whole, but journal/mark.json proves that operation 30 was acknowledged", kept: 29, lost: 1},
	{name: "flip below the snapshot", damage: both(noMark, flipAt(2, -1)), after: 30, file: "2",
		detail: "operation 30 was acknowledged", kept: 29, lost: 1},
	{name: "flip in the very last group without a mark", damage: both(noMark, flipAt(2, -1)), kept: 29},
	{name: "flip in the very last group of a killed process", damage: both(noCleanStop, flipAt(2, -1)), file: "2",
		detail: "high-water.jsonl proves that operation 30 was acknowledged", kept: 29, lost: 1},
	{name: "last segment truncated after a kill", damage: both(noCleanStop, cut(2)), file: "2",
		detail: "it ends at operation 26, but proof/high-water.jsonl proves that operation 30 was acknowledged", kept: 26,
		lost: 4},
	{name: "flip in a header", damage: flipAt(1, 1), file: "1", line: 1, detail: "header", kept: 30},
	{name: "flip in the only readable header", damage: both(flipAt(0, 1), both(flipAt(1, 1), flipAt(2, 1))), file: "0",
		line: 1, detail: "header", kept: 30},
	{name: "first segment missing", damage: missing(0), file: "1", detail: "in no snapshot", kept: 21, lost: 9},
	{name: "middle segment missing", damage: missing(1), file: "2", detail: "it starts at", kept: 18, lost: 12},
	{name: "last segment missing", damage: missing(2), file: "1", detail: "operation 30 was acknowledged", kept: 21,
		lost: 9},
	{name: "all segments missing", damage: both(missing(0), both(missing(0), missing(0))), file: "journal",
		detail: "there is no segment, but journal/mark.json proves that operation 30 was acknowledged"},
	{name: "older segment truncated", damage: cut(0), file: "1", detail: "it starts at", kept: 26, lost: 4},
	{name: "last segment truncated", damage: cut(2), file: "2", detail: "operation 30 was acknowledged", kept: 26, lost: 4},
	{name: "older segment with a torn line", damage: both(noMark, tornEnd(0)), file: "0", line: 10,
		detail: "its line is incomplete, but a later segment exists", kept: 29, lost: 1},
	{name: "foreign store", damage: foreign(1), file: "1", line: 1, detail: "it belongs to store", kept: 18, lost: 12},
	{name: "zeros behind the end", damage: appendTo(2, make([]byte, 70_000)), kept: 30},
	{name: "garbage behind the end", damage: appendTo(2, []byte("{garbage")), kept: 30},
	{name: "zeros in the middle", damage: zeros(1), file: "1", detail: "is not whole", kept: 29, lost: 1},
	{name: "empty new segment", damage: newSegment(nil), kept: 30},
	{name: "torn new segment", damage: newSegment([]byte(`{"memsidecar":"jour`)), kept: 30},
	{name: "new segment of zeros", damage: newSegment(make([]byte, 4096)), kept: 30},
	{name: "mark damaged", damage: flipMark, file: "journal/mark.json", line: 1, detail: "checksum", kept: 30},
	{name: "mark and a record damaged", damage: both(flipMark, flipAt(0, 3)), file: "journal/mark.json", line: 1,
		detail: "checksum", kept: 29, lost: 1},
}

// TestDamage: what had been acknowledged is never given up silently, Check and Open agree, and Repair keeps
// everything else.
func TestDamage(t *testing.T) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			fs := threeSegments(t)
			names := segments(fs)
			if d.damage != nil {
				d.damage(t, fs)
			}
			want := d.file
			if len(want) == 1 {
				want = names[want[0]-'0']
			}
			before := dump(t, fs)
			cfg := config(fs.Clone(), nil)
			cfg.After = d.after
			_, err := journal.Open(cfg)
			found, checkErr := journal.Check(fs, "", d.after)
			if checkErr != nil {
				t.Fatal(checkErr)
			}
			if want == "" {
				if err != nil || len(found) > 0 {
					t.Fatalf("it does not open: %v; check: %v", err, found)
				}
			} else {
				d.refused(t, want, err, found)
			}
			if dump(t, fs) != before {
				t.Fatal("check changed something")
			}
			d.repair(t, fs)
		})
	}
}

// refused requires the same finding, of the right place, from Open and from Check.
func (d damaged) refused(t *testing.T, file string, err error, found []*journal.CorruptError) {
	t.Helper()
	c, ok := errors.AsType[*journal.CorruptError](err)
	if !ok || !errors.Is(err, memory.ErrCorrupt) {
		t.Fatalf("open: %v, want damage", err)
	}
	if c.File != file || d.line > 0 && c.Line != d.line || !strings.Contains(c.Detail, d.detail) {
		t.Errorf("open: %v\nwant %s line %d: …%s…", err, file, d.line, d.detail)
	}
	if !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "memsidecar daemon repair") {
		t.Errorf("the message does not name the file and the command: %v", err)
	}
	if len(found) == 0 || *found[0] != *c {
		t.Errorf("check found %v; open refused with %v", found, c)
	}
}

func (d damaged) repair(t *testing.T, fs *crashfs.FS) {
	t.Helper()
	report, err := journal.Repair(fs, "", d.after, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if (len(report) > 0) != (d.file != "") {
		t.Errorf("repair reports %q", report)
	}
	if found, err := journal.Check(fs, "", d.after); err != nil || len(found) > 0 {
		t.Fatalf("after repair: %v %v", found, err)
	}
	var got []*journal.Record
	j := open(t, config(fs, &got))
	kept, lost := 0, 0
	for i, rec := range got {
		if rec.Op != int64(i+1) {
			t.Fatalf("record %d of %d has number %d", i+1, len(got), rec.Op)
		}
		if rec.Actor == journal.ActorRepair {
			lost++
			continue
		}
		kept++
		if want := fmt.Sprint("summary ", rec.Op); rec.Changes[0].Summary.After != want {
			t.Errorf("operation %d holds %q, want %q", rec.Op, rec.Changes[0].Summary.After, want)
		}
	}
	if kept != d.kept || lost != d.lost {
		t.Errorf("repair kept %d and filled %d, want %d and %d: %q", kept, lost, d.kept, d.lost, report)
	}
	fill(t, j, 3)
}

// threeSegments is a journal of 9, 12 and 9 records, cleanly stopped.
func threeSegments(t *testing.T) *crashfs.FS {
	t.Helper()
	fs := crashfs.New()
	n := 0
	for _, count := range []int{9, 12, 9} {
		if n > 0 { // a segment boundary where the test wants it
			if err := fs.WriteRaw(fmt.Sprintf("journal/%016d.jsonl", n+1),
				header(t, "here", int64(n+1), 1)); err != nil {
				t.Fatal(err)
			}
		}
		cfg := config(fs, nil)
		cfg.SegmentSize = 256 << 10
		j := open(t, cfg)
		for range count {
			n++
			group(t, j, record(n, 0))
		}
		if err := j.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

func dump(t *testing.T, fs *crashfs.FS) string {
	t.Helper()
	var b strings.Builder
	for _, name := range fs.Names() {
		fmt.Fprintf(&b, "%s %s\n", name, bytes.TrimRight(read(t, fs, name), "\x00"))
	}
	return b.String()
}

func both(a, b func(*testing.T, *crashfs.FS)) func(*testing.T, *crashfs.FS) {
	return func(t *testing.T, fs *crashfs.FS) { a(t, fs); b(t, fs) }
}

// flipAt damages a line of a segment; -1 is the last.
func flipAt(segment, n int) func(*testing.T, *crashfs.FS) {
	return func(t *testing.T, fs *crashfs.FS) {
		name := segments(fs)[segment]
		if n < 0 {
			n = bytes.Count(read(t, fs, name), []byte{'\n'})
		}
		flip(t, fs, name, n)
	}
}

func noCleanStop(t *testing.T, fs *crashfs.FS) { remove(t, fs, "journal/mark.json") }

// noMark removes everything that says how far the journal reached.
func noMark(t *testing.T, fs *crashfs.FS) {
	noCleanStop(t, fs)
	remove(t, fs, journal.HighWaterFile)
}

func flipMark(t *testing.T, fs *crashfs.FS) {
	data := read(t, fs, "journal/mark.json")
	at := bytes.Index(data, []byte(`"lsn":3`)) + len(`"lsn":`)
	if err := fs.Corrupt("journal/mark.json", int64(at), []byte("9")); err != nil {
		t.Fatal(err)
	}
}

func missing(segment int) func(*testing.T, *crashfs.FS) {
	return func(t *testing.T, fs *crashfs.FS) { remove(t, fs, segments(fs)[segment]) }
}

func rewrite(segment int, f func(t *testing.T, data []byte) []byte) func(*testing.T, *crashfs.FS) {
	return func(t *testing.T, fs *crashfs.FS) {
		name := segments(fs)[segment]
		if err := fs.WriteRaw(name, f(t, read(t, fs, name))); err != nil {
			t.Fatal(err)
		}
	}
}

// cut takes the last four records.
func cut(segment int) func(*testing.T, *crashfs.FS) {
	return rewrite(segment, func(t *testing.T, data []byte) []byte {
		data = data[:bytes.LastIndexByte(data, '\n')+1]
		return data[:lineStart(t, data, bytes.Count(data, []byte{'\n'})-3)]
	})
}

func tornEnd(segment int) func(*testing.T, *crashfs.FS) {
	return rewrite(segment, func(_ *testing.T, data []byte) []byte { return data[:bytes.LastIndexByte(data, '\n')-5] })
}

func zeros(segment int) func(*testing.T, *crashfs.FS) {
	return rewrite(segment, func(t *testing.T, data []byte) []byte {
		clear(data[lineStart(t, data, 4):lineStart(t, data, 5)])
		return data
	})
}

func appendTo(segment int, more []byte) func(*testing.T, *crashfs.FS) {
	return rewrite(segment, func(_ *testing.T, data []byte) []byte {
		return append(data[:bytes.LastIndexByte(data, '\n')+1], more...)
	})
}

// foreign puts the segment of another store with the same numbers in the place of one.
func foreign(segment int) func(*testing.T, *crashfs.FS) {
	return rewrite(segment, func(t *testing.T, data []byte) []byte {
		var out []byte
		for piece := range bytes.Lines(bytes.TrimRight(data, "\x00")) {
			piece = piece[:bytes.LastIndex(piece, []byte(`,"crc"`))]
			raw := append(bytes.ReplaceAll(piece, []byte("here"), []byte("elsewhere")), '}')
			out = append(out, line(t, rawJSON(raw))...)
		}
		return out
	})
}

type rawJSON []byte

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

func newSegment(data []byte) func(*testing.T, *crashfs.FS) {
	return func(t *testing.T, fs *crashfs.FS) {
		if err := fs.WriteRaw("journal/0000000000000031.jsonl", data); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNewerVersionRefused(t *testing.T) {
	fs := crashfs.New()
	if err := fs.WriteRaw(first, header(t, "here", 1, journal.Version+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(config(fs, nil)); !errors.Is(err, memory.ErrNewerVersion) {
		t.Fatalf("open: %v", err)
	}
	if _, err := journal.Repair(fs, "", 0, epoch); !errors.Is(err, memory.ErrNewerVersion) {
		t.Fatalf("repair: %v", err)
	}
}

// TestRepairOfParts: an operation that lost a part is lost whole; its neighbours in the group stay.
func TestRepairOfParts(t *testing.T) {
	fs := crashfs.New()
	cfg := config(fs, nil)
	cfg.SegmentSize = 32 << 10
	j := open(t, cfg)
	group(t, j, record(1, 0), long(4, 3000), record(2, 0))
	group(t, j, record(3, 0))
	flip(t, fs, first, 4) // line 1 is the header, 2 the first record, 3 to 6 the parts
	report, err := journal.Repair(fs, "", 0, epoch)
	if err != nil || len(report) != 1 || !strings.Contains(report[0], "kept 3 records, lost 4") {
		t.Fatalf("repair: %q %v", report, err)
	}
	var got []*journal.Record
	open(t, config(fs, &got))
	if want := "1 summary 1 1\n2 lost\n3 lost\n4 lost\n5 lost\n6 summary 2 1\n7 summary 3 1\n"; summaries(got) != want {
		t.Fatalf("after repair:\n%swant\n%s", summaries(got), want)
	}
}

// TestScanAgreesWithOpen: a reader that may not change anything sees what Open recovers.
func TestScanAgreesWithOpen(t *testing.T) {
	fs := crashfs.New()
	j := open(t, config(fs, nil))
	fill(t, j, 5)
	remove(t, fs, journal.HighWaterFile) // else a shorter journal is damage
	for seed := range uint64(50) {
		half := fs.Clone()
		data := bytes.TrimRight(read(t, fs, first), "\x00")
		rng := rand.New(rand.NewPCG(seed, 0))
		if err := half.WriteRaw(first, data[:len(data)-rng.IntN(200)]); err != nil {
			t.Fatal(err)
		}
		var scanned, opened []*journal.Record
		last, err := journal.Scan(half, "", 0, func(rec *journal.Record) error {
			scanned = append(scanned, rec)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		j := open(t, config(half, &opened))
		if j.Synced() != last || summaries(scanned) != summaries(opened) {
			t.Fatalf("scan reaches %d, open %d", last, j.Synced())
		}
	}
}

// FuzzRecover puts any bytes behind two good records: nothing panics; it opens with both, or says what is damaged and
// changes nothing.
func FuzzRecover(f *testing.F) {
	recs := []*journal.Record{record(1, 0), record(2, 0), record(3, 0), long(2, 10)}
	var lines [][]byte
	for i, rec := range recs {
		rec.LSN, rec.Group, rec.Op, rec.Origin = int64(i+1), int64(i+1), int64(i+1), "here"
		raw, err := durable.AppendLine(nil, rec)
		if err != nil {
			f.Fatal(err)
		}
		lines = append(lines, raw)
	}
	f.Add([]byte{})
	f.Add(make([]byte, 100))
	f.Add(lines[2])
	f.Add(lines[3])
	f.Add(append([]byte("garbage\n"), lines[3]...))
	f.Add(lines[2][:40])
	far := record(5, 0) // nobody wrote so many records in so few bytes
	far.LSN, far.Group, far.Op, far.Origin, far.Parts = 1<<50, 1<<50, 1<<50, "here", 1<<40
	if raw, err := durable.AppendLine(nil, far); err == nil {
		f.Add(raw)
	}
	f.Add([]byte("\x00\x00\n{\"lsn\":3,\"group\":99999999999999999999}\n"))
	f.Fuzz(func(t *testing.T, tail []byte) {
		head := slicesConcat(header(t, "here", 1, 1), lines[0], lines[1])
		fs := crashfs.New()
		if err := fs.WriteRaw(first, slicesConcat(head, tail)); err != nil {
			t.Fatal(err)
		}
		found, checkErr := journal.Check(fs, "", 0)
		before := dump(t, fs)
		var got []*journal.Record
		j, err := journal.Open(config(fs, &got))
		if err == nil {
			if checkErr != nil || len(found) > 0 {
				t.Fatalf("it opens, but check says %v %v", found, checkErr)
			}
			if j.Synced() < 2 || len(got) < 2 || !strings.HasPrefix(summaries(got), "1 summary 1 1\n2 summary 2 1\n") {
				t.Fatalf("acknowledged records are gone: %s", summaries(got))
			}
			fill(t, j, 1)
			return
		}
		if _, ok := errors.AsType[*journal.CorruptError](err); !ok {
			t.Fatal(err)
		}
		if after := dump(t, fs); after != before {
			t.Fatalf("a refused journal was changed:\n%s\n%s", before, after)
		}
		if _, err := journal.Repair(fs, "", 0, epoch); err != nil {
			t.Fatalf("repair: %v", err)
		}
		open(t, config(fs, nil))
	})
}

func slicesConcat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
