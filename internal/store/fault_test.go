package store_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

var faults = []struct {
	name string
	set  func(*crashfs.FS, int)
}{
	{"EIO", func(f *crashfs.FS, n int) { f.FailAt(n, syscall.EIO) }},
	{"ENOSPC", func(f *crashfs.FS, n int) { f.FailAt(n, syscall.ENOSPC) }},
	{"ENOSPC after a part", func(f *crashfs.FS, n int) { f.FailPartial(n, syscall.ENOSPC) }},
}

// failAt runs the workload until operation n, which fails, stops it.
func failAt(ref *reference, n, fault int) (*run, error) {
	r := &run{fs: crashfs.New()}
	faults[fault].set(r.fs, n)
	err := r.open()
	if err != nil {
		return r, nil
	}
	err = r.steps()
	if r.st.Err() != nil && err == nil {
		return r, errors.New("the store is read-only, but every step succeeded")
	}
	digest, digestErr := r.st.Digest()
	if digestErr != nil {
		return r, digestErr
	}
	if want, ok := ref.digests[r.st.LSN()]; !ok || digest != want {
		return r, fmt.Errorf("reads show another state at LSN %d than a run without failure", r.st.LSN())
	}
	if r.st.Err() != nil && r.st.LSN() != r.acked {
		return r, fmt.Errorf("reads of a read-only store show LSN %d, acknowledged was %d", r.st.LSN(), r.acked)
	}
	return r, nil
}

// TestErrorAtEveryOperation lets every operation of the workload fail once, with EIO and with ENOSPC, and requires
// that reads go on showing only what is durable, and that what was acknowledged is there after a crash, whether the
// store went on, refused or turned read-only.
func TestErrorAtEveryOperation(t *testing.T) {
	ref := newReference(t)
	var points, runs atomic.Int64
	parallel(t, len(faults)*len(ref.trace), func(i int) error {
		n, fault := (i-1)/len(faults)+1, (i-1)%len(faults)
		if sampled(n) {
			return nil
		}
		points.Add(1)
		name := fmt.Sprintf("%s at %d (%s)", faults[fault].name, n, ref.trace[n-1])
		failed, err := failAt(ref, n, fault)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, variant := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			c := crash{n: n, op: ref.trace[n-1], variant: variant, seed: 1}
			if err := c.recover(failed).recovered(ref.digests); err != nil {
				return fmt.Errorf("%s, then %v: %w", name, c, err)
			}
			runs.Add(1)
		}
		return nil
	})
	t.Logf("%d failures of %d operations in %d ways; %d recoveries, 0 acknowledged writes missing", points.Load(),
		len(ref.trace), len(faults), runs.Load())
}

// TestCrashAfterError goes on after an operation failed, with a new process where the store turned read-only, and
// crashes later. The pages of the failed sync are then still in memory, so that the new process reads them, but not
// on disk.
func TestCrashAfterError(t *testing.T) {
	ref := newReference(t)
	var points, runs atomic.Int64
	parallel(t, len(faults)*len(ref.trace), func(i int) error {
		n, fault := (i-1)/len(faults)+1, (i-1)%len(faults)
		// The names of a directory whose sync failed never reach the disk again: a daemon can do nothing about that.
		if sampled(n) || strings.HasPrefix(ref.trace[n-1], "syncdir") &&
			!strings.HasSuffix(ref.trace[n-1], " snapshots") {
			return nil
		}
		points.Add(1)
		more, err := crashAfter(ref, n, fault)
		runs.Add(more)
		if err != nil {
			return fmt.Errorf("%s at %d (%s), then %w", faults[fault].name, n, ref.trace[n-1], err)
		}
		return nil
	})
	t.Logf("%d failures of %d operations in %d ways, crashed later; %d recoveries, 0 acknowledged writes missing",
		points.Load(), len(ref.trace), len(faults), runs.Load())
}

// crashAfter lets operation n fail, goes on, and crashes at some of the operations behind it.
func crashAfter(ref *reference, n, fault int) (runs int64, err error) {
	whole, err := failAt(ref, n, fault)
	if err != nil {
		return 0, err
	}
	whole.digests = maps.Clone(ref.digests)
	if err := whole.goOn(); err != nil {
		return 0, fmt.Errorf("the workload does not go on: %w", err)
	}
	rng := rand.New(rand.NewPCG(uint64(n), uint64(fault)))
	at, end := n+1, whole.fs.Ops()
	for at <= end {
		crashed, err := failAt(ref, n, fault)
		if err != nil {
			return runs, err
		}
		crashed.fs.CrashAt(at)
		_ = crashed.goOn()
		if !crashed.fs.Crashed() { // the crash is behind what the first part did
			return runs, nil
		}
		for _, variant := range []crashfs.CrashMode{crashfs.Lost, crashfs.Torn} {
			c := crash{n: at, op: "of the next life", variant: variant, seed: uint64(n)}
			if err := c.recover(crashed).recovered(whole.digests); err != nil {
				return runs, fmt.Errorf("%v: %w", c, err)
			}
			runs++
		}
		at++
		if !*crashFull {
			at += rng.IntN(100)
		}
	}
	return runs, nil
}

// goOn brings the workload to its end after a failure.
func (r *run) goOn() error {
	if r.st == nil || r.st.Err() != nil {
		if err := r.open(); err != nil {
			return err
		}
		if err := r.note(); err != nil { // what was not acknowledged may be there
			return err
		}
	}
	return r.steps()
}

// recovered opens the store after a crash and requires that it holds everything acknowledged, nothing half, and no
// damage. digests has the states of the same life without the crash.
func (r *run) recovered(digests map[int64]string) error {
	if err := r.open(); err != nil {
		return fmt.Errorf("does not open: %w", err)
	}
	lsn := r.st.LSN()
	if lsn < r.acked {
		return fmt.Errorf("LSN %d after recovery, %d was acknowledged", lsn, r.acked)
	}
	digest, err := r.st.Digest()
	if err != nil {
		return err
	}
	if want, ok := digests[lsn]; !ok || digest != want {
		return fmt.Errorf("the state at LSN %d is not that of a run without a crash", lsn)
	}
	return check(r.fs, lsn, digest)
}

// TestReadOnlyAfterFailedSync: nobody is told that the write succeeded, nobody sees it, and nothing more is accepted.
func TestReadOnlyAfterFailedSync(t *testing.T) {
	r := &run{fs: crashfs.New()}
	if err := errors.Join(r.open(), r.add("", "kept", "acknowledged")); err != nil {
		t.Fatal(err)
	}
	before := contents(r.st)
	r.fs.FailAt(r.fs.Ops()+2, syscall.EIO) // after the write
	if err := r.add("", "lost", "never acknowledged"); !errors.Is(err, memory.ErrReadOnly) {
		t.Fatalf("write whose sync failed: %v", err)
	}
	if got := r.fs.Trace()[r.fs.Ops()-1]; !strings.HasPrefix(got, "datasync") {
		t.Fatalf("the last operation was %q, not a sync: it must not be tried again", got)
	}
	if err := r.add("", "later", "later"); !errors.Is(err, memory.ErrReadOnly) {
		t.Errorf("later write: %v", err)
	}
	if err := r.add("", "kept", "acknowledged"); !errors.Is(err, memory.ErrReadOnly) {
		t.Errorf("repeated write: %v", err)
	}
	if got := contents(r.st); got != before {
		t.Errorf("reads show\n%s\nnot\n%s", got, before)
	}
	if err := r.st.Err(); !errors.Is(err, memory.ErrReadOnly) {
		t.Errorf("Err() = %v", err)
	}
}
