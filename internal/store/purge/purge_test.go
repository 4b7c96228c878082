package purge_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/purge"
)

// newFilledFixture is a fixture with the canary everywhere, in compressed segments of the journal too.
func newFilledFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{fs: crashfs.New()}
	if err := errors.Join(w.open(), w.fill()); err != nil {
		t.Fatal(err)
	}
	memtest.CompressSegments(t, w.fs)
	return w
}

func TestPurge(t *testing.T) {
	w := newFilledFixture(t)
	before, err := w.state()
	if err != nil {
		t.Fatal(err)
	}
	if held, err := w.traces(); err != nil || !slices.Contains(held, "index/default.length.vectors") {
		t.Fatalf("the vector of what is to be erased is not saved: %v, %v", held, err)
	}
	dry := request()
	dry.DryRun = true
	ops := w.fs.Ops()
	foreseen, err := w.purges.Run(t.Context(), dry)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := w.state(); err != nil || after != before || w.fs.Ops() != ops {
		t.Fatalf("a dry run changed something: %v", err)
	}
	want := map[string]int64{
		"memory": 3, "version": 2, "log_entry": 3, "message": 2, "session": 2, "summary": 2, "archived": 2,
		"receipt": 1, "journal": 13,
		"snapshot": 4, "published": 9, "quarantine": 2, "index": 1,
	}
	if diff := cmp.Diff(want, foreseen.Places); diff != "" {
		t.Errorf("what a dry run foresees (-want +got):\n%s", diff)
	}
	res, err := w.purges.Run(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(foreseen.Places, res.Places); diff != "" {
		t.Errorf("foreseen, and done:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"notes/mine.txt"}, res.Remaining); diff != "" {
		t.Errorf("left:\n%s", diff)
	}
	digest, err := w.erased()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("on the disk", func(t *testing.T) { // before a start could finish anything
		disk := &fixture{fs: w.fs.Crash(crashfs.Lost, nil)}
		if found, err := disk.traces(); err != nil || len(found) > 0 {
			t.Errorf("left in %v, %v", found, err)
		}
	})
	t.Run("in the history", func(t *testing.T) { requirePurgedHistory(t, w, res.Op) })
	t.Run("undo", func(t *testing.T) { requireNoUndo(t, w, res.Op) })
	t.Run("restart", func(t *testing.T) {
		w := &fixture{fs: w.fs.Crash(crashfs.Lost, nil), step: w.step}
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
		if again, err := w.erased(); err != nil || again != digest {
			t.Errorf("after a restart: another state, or %v", err)
		}
	})
	t.Run("may be said again", func(t *testing.T) {
		if err := w.put("", memtest.Fact("n1", canary)); err != nil {
			t.Fatal(err)
		}
		m, err := w.st.Space("").Get("n1")
		if err != nil || m.Content != canary {
			t.Errorf("%v, %v", m, err)
		}
	})
}

// requirePurgedHistory requires that the versions are listed, purged, and the purge first.
func requirePurgedHistory(t *testing.T, w *fixture, op int64) {
	recs, err := w.st.History(t.Context(), "", "c1", 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, rec := range recs {
		for _, c := range rec.Changes {
			if c.Memory == nil || c.Memory.ID != "c1" {
				continue
			}
			text := "-"
			if c.Memory.After != nil {
				text = c.Memory.After.Content
			}
			got = append(got, text)
		}
	}
	if diff := cmp.Diff([]string{"-", "[purged]", "[purged]"}, got); diff != "" || recs[0].Op != op {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	rec, err := w.st.Operation(t.Context(), op)
	if err != nil || rec.Actor != journal.ActorClient || rec.Reason != "asked by [purged]" || rec.Purge == nil {
		t.Errorf("the operation is %+v, %v", rec, err)
	}
	forgotten := false
	_, err = w.st.Update(t.Context(), store.Meta{Actor: journal.ActorReflect}, func(tx *store.Tx) error {
		forgotten = tx.IsForgotten(canary) && tx.IsForgotten(older) && !tx.IsForgotten("kept too")
		return nil
	})
	if err != nil || !forgotten {
		t.Errorf("forgotten = %v, %v", forgotten, err)
	}
}

// requireNoUndo requires that nothing erased comes back.
func requireNoUndo(t *testing.T, w *fixture, purge int64) {
	if _, err := w.st.Undo(t.Context(), store.Meta{}, purge); !errors.Is(err, memory.ErrNotUndoable) {
		t.Errorf("undo of the purge: %v", err)
	}
	for op := int64(1); op < purge; op++ {
		rec, err := w.st.Operation(t.Context(), op)
		if err != nil || rec.Op != op || len(rec.Changes) == 0 || rec.Changes[0].Memory == nil ||
			rec.Changes[0].Memory.ID != "c1" {
			continue
		}
		res, err := w.st.Undo(t.Context(), store.Meta{}, op)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]journal.Outcome{{ID: "c1", Status: journal.Rejected, Reason: "PURGED"}},
			res.Outcomes); diff != "" {
			t.Errorf("undo of %d (-want +got):\n%s", op, diff)
		}
	}
}

func TestPurgeRefuses(t *testing.T) {
	w := &fixture{fs: crashfs.New()}
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		req  store.PurgeRequest
		want error
	}{
		{"an unknown memory", store.PurgeRequest{IDs: []string{"nobody"}}, memory.ErrNotFound},
		{"nothing", store.PurgeRequest{}, nil},
		{"a short text", store.PurgeRequest{Texts: []string{"abc"}}, nil},
		{"the mark", store.PurgeRequest{Texts: []string{"purged"}}, nil},
		{"a space that is none", store.PurgeRequest{Space: "A B", Texts: []string{"abcd"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.purges.Run(t.Context(), purge.Request{PurgeRequest: tt.req})
			_, invalid := errors.AsType[*memory.InvalidError](err)
			if tt.want == nil && !invalid || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// TestWatchGoesOn requires that a reader of the change feed sees every operation once, through the rewriting.
func TestWatchGoesOn(t *testing.T) {
	w := newFilledFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(chan int64, 100)
	go func() {
		defer close(seen)
		for rec, err := range w.st.Watch(ctx, 2) {
			if err != nil {
				return
			}
			seen <- rec.Op
		}
	}()
	next := <-seen
	if _, err := w.purges.Run(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	if err := w.put("", memtest.Fact("n2", "the last one")); err != nil {
		t.Fatal(err)
	}
	for last := w.st.LSN(); next < last; {
		op, ok := <-seen
		if !ok || op != next+1 {
			t.Fatalf("operation %d followed %d", op, next)
		}
		next = op
	}
}

// crashStart is a disk with the canary everywhere, and what an uninterrupted purge does on it.
type crashStart struct {
	disk   *crashfs.FS
	step   int
	before string
	after  string
	trace  []string
}

func newCrashStart(t *testing.T) *crashStart {
	t.Helper()
	w := newFilledFixture(t)
	s := &crashStart{disk: w.fs.Crash(crashfs.Kept, nil), step: w.step}
	w = s.newFixture()
	if err := w.open(); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.before, err = w.state(); err != nil {
		t.Fatal(err)
	}
	began := w.fs.Ops()
	if _, err = w.purges.Run(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	if s.after, err = w.erased(); err != nil {
		t.Fatal(err)
	}
	s.trace = w.fs.Trace()[began:]
	return s
}

// newFixture makes a fixture on a copy of the disk.
func (s *crashStart) newFixture() *fixture {
	return &fixture{fs: s.disk.Crash(crashfs.Kept, nil), step: s.step}
}

// settled requires that either nothing has happened or all of it, and that it can be done then.
func (s *crashStart) settled(w *fixture) error {
	digest, err := w.state()
	if err != nil {
		return err
	}
	if digest == s.before {
		if _, err := w.purges.Run(context.Background(), request()); err != nil {
			return fmt.Errorf("purge after a crash before it: %w", err)
		}
	}
	digest, err = w.erased()
	if err != nil {
		return err
	}
	if digest != s.after {
		return errors.New("the state is not that of a purge without a crash")
	}
	return nil
}

// TestCrashAtEveryOperation crashes a purge at every operation of the file system and requires that the next start
// finds nothing of it or finishes it. Some of the next starts are crashed in their turn.
func TestCrashAtEveryOperation(t *testing.T) {
	s := newCrashStart(t)
	var runs atomic.Int64
	parallel(t, len(s.trace), func(n int) error {
		if memtest.SkipSample(n, 21) {
			return nil
		}
		w := s.newFixture()
		if err := w.open(); err != nil {
			return err
		}
		w.fs.CrashAt(w.fs.Ops() + n)
		err := w.untilCrash(func() error {
			_, err := w.purges.Run(context.Background(), request())
			return err
		})
		if err == nil && w.fs.Crashed() && n < len(s.trace) {
			return fmt.Errorf("operation %d: the purge said it had succeeded", n)
		}
		for v := range 5 {
			variant := []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn, crashfs.Torn, crashfs.Torn}[v]
			again := &fixture{fs: w.fs.Crash(variant, rand.New(rand.NewPCG(uint64(n), uint64(v)))), step: s.step}
			if (n+v)%5 == 0 { // this start is crashed too
				again.fs.CrashAt(1 + (n*7+v*13)%60)
				if err := again.open(); err != nil {
					again = &fixture{fs: again.fs.Crash(crashfs.Torn, rand.New(rand.NewPCG(uint64(n), 99))), step: s.step}
				} else {
					again = &fixture{fs: again.fs.Crash(crashfs.Kept, nil), step: s.step}
				}
			}
			if err := again.open(); err != nil {
				return fmt.Errorf("crash at %d (%s), %v: does not open: %w", n, s.trace[n-1], variant, err)
			}
			if err := s.settled(again); err != nil {
				return fmt.Errorf("crash at %d (%s), %v %d: %w", n, s.trace[n-1], variant, v, err)
			}
			runs.Add(1)
		}
		return nil
	})
	t.Logf("%d operations of a purge, each crashed in 5 variants; %d recoveries, none half done", len(s.trace),
		runs.Load())
}

// TestErrorAtEveryOperation lets every operation of a purge fail once and requires that the error is named, that
// readers see the state before or after, and that the next start, with a crash before it, finishes.
func TestErrorAtEveryOperation(t *testing.T) {
	s := newCrashStart(t)
	var runs, named atomic.Int64
	parallel(t, 2*len(s.trace), func(i int) error {
		n, fault := (i-1)/2+1, []error{syscall.EIO, syscall.ENOSPC}[(i-1)%2]
		if memtest.SkipSample(n, 21) {
			return nil
		}
		where := fmt.Sprintf("%v at %d (%s)", fault, n, s.trace[n-1])
		w := s.newFixture()
		if err := w.open(); err != nil {
			return err
		}
		w.fs.FailAt(w.fs.Ops()+n, fault)
		_, err := w.purges.Run(context.Background(), request())
		if err != nil {
			named.Add(1)
		}
		digest, stateErr := w.st.Digest()
		if stateErr != nil {
			return fmt.Errorf("%s: %w", where, stateErr)
		}
		if digest != s.before && digest != s.after {
			return fmt.Errorf("%s: readers see neither the state before nor the one after", where)
		}
		if err == nil {
			if _, err := w.erased(); err != nil {
				return fmt.Errorf("%s: it said it had succeeded: %w", where, err)
			}
		}
		for _, variant := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			again := &fixture{fs: w.fs.Crash(variant, rand.New(rand.NewPCG(uint64(n), 1))), step: s.step}
			if openErr := again.open(); openErr != nil {
				return fmt.Errorf("%s, %v: does not open: %w", where, variant, openErr)
			}
			if err == nil {
				if _, err := again.erased(); err != nil {
					return fmt.Errorf("%s, %v: it said it had succeeded: %w", where, variant, err)
				}
			}
			if err := s.settled(again); err != nil {
				return fmt.Errorf("%s, %v: %w", where, variant, err)
			}
			runs.Add(1)
		}
		// The names of a directory whose sync failed never reach the disk again: a daemon can do nothing about that.
		if strings.HasPrefix(s.trace[n-1], "syncdir") {
			return nil
		}
		next := &fixture{fs: w.fs, step: s.step} // another process, on what the kernel still holds
		if err := next.open(); err != nil {
			return fmt.Errorf("%s, then another process: %w", where, err)
		}
		if err := s.settled(next); err != nil {
			return fmt.Errorf("%s, then another process: %w", where, err)
		}
		disk := &fixture{fs: next.fs.Crash(crashfs.Lost, nil)}
		if found, err := disk.traces(); err != nil {
			return err
		} else if len(found) > 0 {
			return fmt.Errorf("%s, then another process, then a crash: left in %v", where, found)
		}
		runs.Add(1)
		return nil
	})
	t.Logf("%d operations failed in 2 ways, %d with an error to the caller; %d recoveries, none half done",
		len(s.trace), named.Load(), runs.Load())
}

// TestDiskFullGoesOn requires that a purge that had no space to rewrite the journal goes on with the next call,
// without a restart.
func TestDiskFullGoesOn(t *testing.T) {
	w := newFilledFixture(t)
	s := newCrashStart(t)
	at := 0
	for i, op := range s.trace {
		if strings.Contains(op, "journal/") && strings.Contains(op, ".tmp-") && strings.HasPrefix(op, "write") {
			at = i + 1
			break
		}
	}
	if at == 0 {
		t.Fatal("no segment is rewritten")
	}
	w.fs.FailAt(w.fs.Ops()+at, syscall.ENOSPC)
	if _, err := w.purges.Run(t.Context(), request()); !errors.Is(err, memory.ErrUnfinished) ||
		!errors.Is(err, memory.ErrDiskFull) {
		t.Fatalf("error %v", err)
	}
	if err := w.put("", memtest.Fact("n3", "written meanwhile")); err != nil {
		t.Fatal(err)
	}
	_, err := w.purges.Run(t.Context(), purge.Request{
		PurgeRequest: store.PurgeRequest{Texts: []string{"written meanwhile"}}})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := w.traces(); err != nil || len(found) > 0 {
		t.Errorf("left in %v, %v", found, err)
	}
}

// parallel runs f for 1 to n on all processors and fails the test with the first error.
func parallel(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1))
				if i > n {
					return
				}
				if err := f(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		t.Fatal(*err)
	}
}
