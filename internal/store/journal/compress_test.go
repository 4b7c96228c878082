package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// compressAll compresses what is old enough, and returns how many segments that were.
func compressAll(t *testing.T, j *journal.Journal, lsn int64) (n int) {
	t.Helper()
	for {
		did, err := j.Compress(lsn)
		if err != nil {
			t.Fatal(err)
		}
		if !did {
			return n
		}
		n++
	}
}

// everything is what readers of a journal see, by each way of reading.
func everything(t *testing.T, j *journal.Journal) []string {
	t.Helper()
	var out []string
	add := func(how string, rec *journal.Record, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		out = append(out, fmt.Sprintf("%s %d %d %s", how, rec.Op, len(rec.Changes), rec.At))
	}
	for rec, err := range j.Read(1, math.MaxInt64) {
		add("read", rec, err)
	}
	for rec, err := range j.Backward(1, math.MaxInt64) {
		add("backward", rec, err)
	}
	for lsn := int64(1); lsn <= j.Synced(); lsn += 13 {
		rec, err := j.Operation(lsn)
		add("operation", rec, err)
	}
	return out
}

// TestCompress: readers, extents, a check, a start and the next writes are as before, and nothing is compressed twice.
func TestCompress(t *testing.T) {
	fs, j, _ := library(t)
	want, names := everything(t, j), segments(fs)
	before := map[string][]byte{}
	for _, name := range names {
		before[name] = bytes.TrimRight(read(t, fs, name), "\x00")
	}
	if n := compressAll(t, j, 0); n != 0 {
		t.Errorf("%d segments are compressed that no snapshot includes", n)
	}
	if n := compressAll(t, j, j.Synced()); n != len(names)-1 {
		t.Errorf("%d of %d segments are compressed", n, len(names))
	}
	for i, name := range names {
		data := read(t, fs, name)
		if compressed.Is(data) != (i < len(names)-1) {
			t.Errorf("%s is compressed: %v", name, compressed.Is(data))
		} else if i < len(names)-1 && (!bytes.Equal(compressed.Decompress(data), before[name]) ||
			len(data) > len(before[name])/2) {
			t.Errorf("%s has %d bytes of %d, or others", name, len(data), len(before[name]))
		}
	}
	if diff := cmp.Diff(want, everything(t, j)); diff != "" {
		t.Errorf("what readers see (-before +now):\n%s", diff)
	}
	extents, err := j.Extents(j.Synced())
	if err != nil || len(extents) != len(names) {
		t.Fatalf("%d extents: %v", len(extents), err)
	}
	for _, e := range extents[:len(extents)-1] {
		if int(e.Bytes) != len(read(t, fs, e.Name)) {
			t.Errorf("%s: %d bytes of %d", e.Name, e.Bytes, len(read(t, fs, e.Name)))
		}
	}
	group(t, j, record(9000, 0))
	want = everything(t, j)
	lost := fs.Crash(crashfs.Lost, nil)
	if found, err := journal.Check(lost, "", 0); err != nil || len(found) > 0 {
		t.Errorf("check: %v, %v", found, err)
	}
	cfg := config(lost, nil)
	cfg.SegmentSize = 128 << 10
	again := open(t, cfg)
	if diff := cmp.Diff(want, everything(t, again)); diff != "" {
		t.Errorf("after a crash (-before +now):\n%s", diff)
	}
	if n := compressAll(t, again, again.Synced()); n != 0 {
		t.Errorf("%d segments are compressed twice", n)
	}
}

// TestCompressFails: a failure before the rename changes nothing and can be tried again; one of the rename or behind it
// ends all writing, and the segment is whole either way. After a crash at any operation everything is there.
func TestCompressFails(t *testing.T) {
	start := func() (*crashfs.FS, *journal.Journal) {
		fs := crashfs.New()
		j := open(t, config(fs, nil))
		group(t, j, record(1, 3000))
		if err := errors.Join(j.WaitIdle(t.Context()), j.Roll()); err != nil {
			t.Fatal(err)
		}
		group(t, j, record(2, 0))
		return fs, j
	}
	want := []string{record(1, 3000).Changes[0].Summary.After, "summary 2"}
	for at := 1; ; at++ {
		fs, j := start()
		began := fs.Ops()
		fs.FailAt(began+at, syscall.ENOSPC)
		did, err := j.Compress(2)
		if fs.Ops() < began+at {
			if at < 5 || err != nil || !did {
				t.Fatalf("it takes %d operations: %v, %v", at-1, did, err)
			}
			break
		}
		op := fs.Trace()[began+at-1]
		last := strings.HasPrefix(op, "rename") || strings.HasPrefix(op, "syncdir")
		if last != errors.Is(err, memory.ErrReadOnly) || !last && !errors.Is(err, memory.ErrDiskFull) {
			t.Errorf("%s: %v", op, err)
		}
		if diff := cmp.Diff(want, texts(t, j)); diff != "" {
			t.Errorf("%s:\n%s", op, diff)
		}
		if did, err := j.Compress(2); !last && (err != nil || !did) {
			t.Errorf("%s, again: %v, %v", op, did, err)
		}
		for v, mode := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn, crashfs.Torn, crashfs.Torn} {
			fs, j := start()
			fs.CrashAt(fs.Ops() + at)
			_, _ = j.Compress(2)
			after := fs.Crash(mode, newRand(uint64(at*10+v)))
			if diff := cmp.Diff(want, texts(t, open(t, config(after, nil)))); diff != "" {
				t.Errorf("crash at %s, %v:\n%s", op, mode, diff)
			}
		}
	}
}

// TestDamagedStaysAsItIs: a damaged segment is not compressed, so that as much of it as possible can be read.
func TestDamagedStaysAsItIs(t *testing.T) {
	fs, j, _ := library(t)
	names := segments(fs)
	flip(t, fs, names[1], 5)
	if n := compressAll(t, j, j.Synced()); n != len(names)-2 || compressed.Is(read(t, fs, names[1])) {
		t.Errorf("%d of %d segments are compressed", n, len(names))
	}
}

// TestDamageOfCompressed: a start and a check refuse a damaged compressed segment by name and change nothing, also the
// last one, and repair keeps every record of the parts that are whole.
func TestDamageOfCompressed(t *testing.T) {
	whole, j, _ := library(t)
	compressAll(t, j, j.Synced())
	names := segments(whole)
	second := read(t, whole, names[1])
	part := bytes.Index(second[1:], second[:12]) + 1 // where the second part begins
	if part < 100 {
		t.Fatal("the segment has one part only")
	}
	for name, damage := range map[string]func(fs *crashfs.FS) error{
		"a flipped bit": func(fs *crashfs.FS) error {
			return fs.Corrupt(names[1], int64(part+200), []byte{second[part+200] ^ 4})
		},
		"the head of a part": func(fs *crashfs.FS) error { return fs.Corrupt(names[1], int64(part), []byte("????????")) },
		"its head":           func(fs *crashfs.FS) error { return fs.Corrupt(names[1], 2, []byte("??????????")) },
		"cut":                func(fs *crashfs.FS) error { return fs.WriteRaw(names[1], second[:part+100]) },
		"without a part":     func(fs *crashfs.FS) error { return fs.WriteRaw(names[1], second[:part]) },
		"more":               func(fs *crashfs.FS) error { return fs.WriteRaw(names[1], append(bytes.Clone(second), 'x')) },
		"cut, and the last": func(fs *crashfs.FS) error {
			for _, name := range append(names[2:], "proof/high-water.jsonl") {
				remove(t, fs, name)
			}
			return fs.WriteRaw(names[1], second[:part+100])
		},
	} {
		fs := whole.Clone()
		if err := damage(fs); err != nil {
			t.Fatal(err)
		}
		ops := fs.Ops()
		_, err := journal.Open(config(fs, nil))
		if !errors.Is(err, memory.ErrCorrupt) || !strings.Contains(err.Error(), names[1]) {
			t.Errorf("%s: start: %v", name, err)
		}
		found, err := journal.Check(fs, "", 0)
		// Where a segment simply ends too soon, the next one is what does not fit.
		if err != nil || len(found) == 0 || found[0].File != names[1] && (name != "without a part" || found[0].File != names[2]) {
			t.Errorf("%s: check: %v, %v", name, found, err)
		}
		if fs.Ops() != ops {
			t.Errorf("%s: changed: %v", name, fs.Trace()[ops:])
		}
		report, err := journal.Repair(fs, "", 0, epoch)
		if err != nil || len(report) == 0 {
			t.Errorf("%s: repair: %v, %v", name, report, err)
			continue
		}
		again := open(t, config(fs, nil))
		kept := 0
		for rec, err := range again.Read(1, math.MaxInt64) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if rec.Actor != journal.ActorRepair {
				kept++
			}
		}
		if kept < 100 {
			t.Errorf("%s: repair kept %d operations", name, kept)
		}
		quarantined := false
		for _, n := range fs.Names() {
			quarantined = quarantined || strings.HasPrefix(n, "quarantine/")
		}
		if !quarantined {
			t.Errorf("%s: the damaged bytes are gone", name)
		}
	}
}

// TestAppendsToNothingCompressed: when the segment behind a compressed one is gone that had no records, writing goes on
// in the compressed one, which is not any more.
func TestAppendsToNothingCompressed(t *testing.T) {
	fs := crashfs.New()
	j := open(t, config(fs, nil))
	group(t, j, record(1, 3000))
	if err := errors.Join(j.WaitIdle(t.Context()), j.Roll()); err != nil {
		t.Fatal(err)
	}
	compressAll(t, j, 1)
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	remove(t, fs, segments(fs)[1])
	j = open(t, config(fs, nil))
	group(t, j, record(2, 0))
	if compressed.Is(read(t, fs, first)) {
		t.Error("it is compressed, and appended to")
	}
	want := []string{record(1, 3000).Changes[0].Summary.After, "summary 2"}
	if diff := cmp.Diff(want, texts(t, open(t, config(crash(fs), nil)))); diff != "" {
		t.Error(diff)
	}
}

// TestRewriteCompressed: a rewritten segment stays compressed.
func TestRewriteCompressed(t *testing.T) {
	fs := crashfs.New()
	j := open(t, config(fs, nil))
	group(t, j, record(1, 0), record(2, 0))
	if err := errors.Join(j.WaitIdle(t.Context()), j.Roll()); err != nil {
		t.Fatal(err)
	}
	compressAll(t, j, 2)
	if n, err := j.Rewrite(t.Context(), shout("1", 3)); err != nil || n.Records != 1 {
		t.Fatal(n, err)
	}
	data, err := durable.ReadFile(fs, first)
	if err != nil || !compressed.Is(data) || !bytes.Contains(compressed.Decompress(data), []byte("SUMMARY 1")) {
		t.Errorf("compressed %v, %v", compressed.Is(data), err)
	}
	if diff := cmp.Diff([]string{"SUMMARY 1", "summary 2"}, texts(t, j)); diff != "" {
		t.Error(diff)
	}
}
