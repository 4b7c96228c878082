package journal_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// library is a journal of several segments with operations of one record and of many, and the number of each operation.
func library(t *testing.T) (*crashfs.FS, *journal.Journal, []*journal.Record) {
	t.Helper()
	fs := crashfs.New()
	cfg := config(fs, nil)
	cfg.SegmentSize = 128 << 10 // operations are split at 16 KiB
	j := open(t, cfg)
	var ops []*journal.Record
	for i := range 600 {
		rec := record(i+1, i%700)
		if i%50 == 7 {
			rec = long(3+i/50, 12_000)
			rec.At = record(i+1, 0).At
		}
		group(t, j, rec)
		ops = append(ops, rec)
	}
	if n := j.Stats().Segments; n < 5 {
		t.Fatalf("%d segments only", n)
	}
	return fs, j, ops
}

// between are the numbers of the operations with from <= Op <= to.
func between(ops []*journal.Record, from, to int64) (out []int64) {
	for _, rec := range ops {
		if from <= rec.Op && rec.Op <= to {
			out = append(out, rec.Op)
		}
	}
	return out
}

func TestReadAndBackward(t *testing.T) {
	_, j, ops := library(t)
	changes := map[int64]int{}
	for _, rec := range ops {
		changes[rec.Op] = len(rec.Changes)
	}
	last := j.Synced()
	ranges := [][2]int64{{1, last}, {1, math.MaxInt64}, {last, last}, {last + 1, math.MaxInt64}, {5, 4}}
	for from := int64(1); from < last; from += 37 {
		ranges = append(ranges, [2]int64{from, from}, [2]int64{from, from + 90}, [2]int64{from, last})
	}
	for _, r := range ranges {
		var forward, backward []int64
		for rec, err := range j.Read(r[0], r[1]) {
			if err != nil {
				t.Fatalf("read %v: %v", r, err)
			}
			if len(rec.Changes) != changes[rec.Op] {
				t.Fatalf("read %v: operation %d has %d changes, not %d", r, rec.Op, len(rec.Changes), changes[rec.Op])
			}
			forward = append(forward, rec.Op)
		}
		for rec, err := range j.Backward(r[0], r[1]) {
			if err != nil {
				t.Fatalf("backward %v: %v", r, err)
			}
			backward = append(backward, rec.Op)
		}
		if diff := cmp.Diff(between(ops, r[0], r[1]), forward); diff != "" {
			t.Fatalf("read %v (-want +got):\n%s", r, diff)
		}
		slices.Reverse(backward)
		if diff := cmp.Diff(forward, backward); diff != "" {
			t.Fatalf("backward %v (-forward +backward):\n%s", r, diff)
		}
	}
	for rec, err := range j.Read(1, last) { // a reader may stop
		if err != nil || rec.Op != 1 {
			t.Fatal(rec, err)
		}
		break
	}
}

// TestTimes: numbers and times are those of the whole records, and nothing else is decoded.
func TestTimes(t *testing.T) {
	_, j, ops := library(t)
	i := len(ops)
	for got, err := range j.Times(1, math.MaxInt64) {
		if err != nil {
			t.Fatal(err)
		}
		i--
		want := journal.Record{LSN: ops[i].Op, Group: got.Group, Op: ops[i].Op, Parts: ops[i].Parts, At: ops[i].At}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Fatalf("operation %d (-want +got):\n%s", ops[i].Op, diff)
		}
	}
	if i != 0 {
		t.Errorf("the oldest %d operations are missing", i)
	}
}

func TestOperation(t *testing.T) {
	_, j, ops := library(t)
	for _, want := range ops {
		for lsn := want.Op; lsn <= want.Last(); lsn++ {
			got, err := j.Operation(lsn)
			if err != nil {
				t.Fatalf("operation of record %d: %v", lsn, err)
			}
			if got.Op != want.Op || len(got.Changes) != len(want.Changes) {
				t.Fatalf("record %d: operation %d with %d changes, want %d with %d", lsn, got.Op, len(got.Changes),
					want.Op, len(want.Changes))
			}
		}
	}
	for _, lsn := range []int64{-1, 0, j.Synced() + 1, math.MaxInt64} {
		if _, err := j.Operation(lsn); !errors.Is(err, memory.ErrNotFound) {
			t.Errorf("operation %d: %v", lsn, err)
		}
	}
}

func TestTrim(t *testing.T) {
	fs, j, ops := library(t)
	names := segments(fs)
	var starts []int64
	for _, name := range names {
		var n int64
		if _, err := fmt.Sscanf(name, "journal/%d.jsonl", &n); err != nil {
			t.Fatal(err)
		}
		starts = append(starts, n)
	}
	far := epoch.AddDate(10, 0, 0)
	trim := func(lsn int64) int {
		t.Helper()
		n, err := j.Trim(far, lsn)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := trim(starts[1] - 2); n != 0 {
		t.Fatalf("%d segments went, whose last record is in no snapshot", n)
	}
	if n, err := j.Trim(ops[0].At, math.MaxInt64); n != 0 || err != nil {
		t.Fatalf("%d segments went that are not old enough: %v", n, err)
	}
	if n := trim(starts[2] - 1); n != 2 || j.First() != starts[2] {
		t.Fatalf("%d segments went, the first record is %d; want 2 and %d", n, j.First(), starts[2])
	}
	if _, err := j.Operation(starts[2] - 1); !errors.Is(err, memory.ErrTrimmed) {
		t.Errorf("operation that is gone: %v", err)
	}
	for _, err := range j.Read(1, 5) {
		if !errors.Is(err, memory.ErrTrimmed) {
			t.Errorf("read of what is gone: %v", err)
		}
	}
	// What is kept reads as before, from its very first record on.
	for _, want := range ops {
		if want.Op < starts[2] {
			continue
		}
		for _, lsn := range []int64{want.Op, want.Last()} {
			if got, err := j.Operation(lsn); err != nil || got.Op != want.Op {
				t.Fatalf("record %d: %v %v", lsn, got, err)
			}
		}
	}
	if n := trim(math.MaxInt64); n != len(starts)-3 || j.Stats().Segments != 1 {
		t.Fatalf("%d went, %d segments stay; the newest must", n, j.Stats().Segments)
	}
	group(t, j, record(1, 0))
	cfg := config(crash(fs), nil)
	if _, err := journal.Open(cfg); !errors.Is(err, memory.ErrCorrupt) {
		t.Fatalf("a trimmed journal without a snapshot: %v", err)
	}
	cfg.After = starts[len(starts)-1]
	open(t, cfg)
}

// TestTrimmedToALongOperation: when all a segment holds is one operation of many parts, each of its records still
// names it, also as the oldest.
func TestTrimmedToALongOperation(t *testing.T) {
	fs := crashfs.New()
	cfg := config(fs, nil)
	cfg.SegmentSize = 32 << 10
	j := open(t, cfg)
	for range 4 {
		group(t, j, long(12, 3900))
	}
	for want := range int64(3) {
		if n, err := j.Trim(epoch.AddDate(1, 0, 0), 12*(want+1)); n != 1 || err != nil {
			t.Fatalf("trim %d: %d segments, %v", want, n, err)
		}
		for lsn := j.First(); lsn <= j.First()+11; lsn++ {
			if rec, err := j.Operation(lsn); err != nil || rec.Op != j.First() {
				t.Fatalf("record %d: %v %v", lsn, rec, err)
			}
		}
	}
}

// TestTrimFails: a segment that cannot be removed is tried again before any later one, so that there is never a gap.
func TestTrimFails(t *testing.T) {
	fs, j, _ := library(t)
	fs.FailAt(fs.Ops()+1, errors.New("cannot remove"))
	if n, err := j.Trim(epoch.AddDate(10, 0, 0), math.MaxInt64); n != 0 || err == nil {
		t.Fatalf("%d segments went: %v", n, err)
	}
	if rec, err := j.Operation(1); err != nil || rec.Op != 1 {
		t.Fatalf("the segment is still there, but: %v", err)
	}
	after := j.First() + 20
	if _, err := j.Trim(epoch.AddDate(10, 0, 0), math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	after = max(after, j.First())
	if found, err := journal.Check(fs, "", after); err != nil || len(found) > 0 {
		t.Fatalf("after the second trim: %v %v", found, err)
	}
}

// TestReadBesideTrim: a reader that is overtaken by a trim is told so.
func TestReadBesideTrim(t *testing.T) {
	_, j, _ := library(t)
	for rec, err := range j.Read(1, math.MaxInt64) {
		if err != nil {
			if !errors.Is(err, memory.ErrTrimmed) {
				t.Fatalf("after %v: %v", rec, err)
			}
			return
		}
		if _, err := j.Trim(epoch.AddDate(10, 0, 0), math.MaxInt64); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the reader saw the end of a journal whose middle is gone")
}

func TestAdvancedAndClose(t *testing.T) {
	fs := crashfs.New()
	j := open(t, config(fs, nil))
	waiting := j.Advanced(0)
	select {
	case <-waiting:
		t.Fatal("advanced before anything was written")
	default:
	}
	group(t, j, record(1, 0))
	<-waiting
	<-j.Advanced(0)
	end := j.Advanced(1)
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-end
	if !j.Stopped() {
		t.Error("not stopped")
	}
	if _, err := j.Stage(record(2, 0), false); !errors.Is(err, memory.ErrShuttingDown) {
		t.Errorf("stage after close: %v", err)
	}
	if err := j.Close(context.Background()); err != nil {
		t.Errorf("second close: %v", err)
	}
}
