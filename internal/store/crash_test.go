package store_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

var crashFull = flag.Bool("crash.full", false,
	"crash with 16 torn variants instead of 3, in every operation of every recovery, and after every failure")

// reference is the workload without a crash.
type reference struct {
	trace   []string
	digests map[int64]string // by LSN at the end of each step
	end     string           // contents at the end
}

func newReference(t *testing.T) *reference {
	t.Helper()
	r := &run{fs: crashfs.New(), digests: map[int64]string{}}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.note(), r.steps()); err != nil {
		t.Fatal(err)
	}
	if r.compressed == 0 {
		t.Fatal("no segment was compressed")
	}
	ref := &reference{trace: r.fs.Trace(), digests: r.digests}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	ref.end = contents(r.st)
	return ref
}

// sampled reports whether operation n is left out because the tests are to be short.
func sampled(n int) bool { return !*crashFull && memtest.SkipSample(n, 21) }

// TestCrashAtEveryOperation crashes the workload at every operation of the file system, in every variant, and
// requires that the store opens, holds everything acknowledged, holds nothing half, has no damage, and ends like the
// run without a crash when the workload goes on.
func TestCrashAtEveryOperation(t *testing.T) {
	ref := newReference(t)
	torn := 3
	if *crashFull {
		torn = 16
	}
	var points, runs atomic.Int64
	parallel(t, len(ref.trace), func(n int) error {
		if sampled(n) {
			return nil
		}
		points.Add(1)
		crashed := &run{fs: crashfs.New()}
		crashed.fs.CrashAt(n)
		err := crashed.open()
		if err == nil {
			err = crashed.steps()
		}
		if err == nil || !crashed.fs.Crashed() {
			return fmt.Errorf("operation %d: the run ended without a crash: %w", n, err)
		}
		for v := range 2 + torn {
			c := crash{n: n, op: ref.trace[n-1], variant: crashfs.Torn, seed: uint64(v)}
			if v < 2 {
				c.variant = []crashfs.CrashMode{crashfs.Lost, crashfs.Kept}[v]
			}
			if err := c.recover(crashed).verify(ref); err != nil {
				return fmt.Errorf("%v: %w", c, err)
			}
			runs.Add(1)
			if *crashFull || (n+v)%7 == 0 {
				more, err := crashRecovery(crashed, c, ref)
				if err != nil {
					return fmt.Errorf("%v: %w", c, err)
				}
				runs.Add(more)
			}
		}
		return nil
	})
	t.Logf("%d of %d operations, each crashed in %d variants; %d recoveries, 0 acknowledged writes missing, 0 half "+
		"applied",
		points.Load(), len(ref.trace), 2+torn, runs.Load())
}

// crash is one way to crash at one operation.
type crash struct {
	n       int
	op      string
	variant crashfs.CrashMode
	seed    uint64
}

func (c crash) String() string {
	return fmt.Sprintf("crash at %d (%s), variant %v, seed %d", c.n, c.op, c.variant, c.seed)
}

// recover is the life after the crash, before its start.
func (c crash) recover(crashed *run) *run {
	fs := crashed.fs.Crash(c.variant, rand.New(rand.NewPCG(uint64(c.n), c.seed)))
	return &run{fs: fs, step: crashed.step, acked: crashed.acked}
}

// verify opens the store after a crash, checks it, and brings the workload to its end.
func (r *run) verify(ref *reference) error {
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
	want, ok := ref.digests[lsn]
	if !ok {
		return fmt.Errorf("recovered to LSN %d, which is in the middle of an operation", lsn)
	}
	if digest != want {
		return fmt.Errorf("the state at LSN %d is not that of a run without a crash", lsn)
	}
	if err := check(r.fs, lsn, digest); err != nil {
		return err
	}
	return r.finish(ref)
}

// finish brings the workload to its end, which must be that of the reference.
func (r *run) finish(ref *reference) error {
	if err := r.steps(); err != nil {
		return fmt.Errorf("the workload does not go on: %w", err)
	}
	if err := r.open(); err != nil {
		return fmt.Errorf("does not open at the end: %w", err)
	}
	digest, err := r.st.Digest()
	if err != nil {
		return err
	}
	if err := check(r.fs, r.st.LSN(), digest); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	if got := contents(r.st); got != ref.end {
		return fmt.Errorf("ends as\n%s\nnot as\n%s", got, ref.end)
	}
	return nil
}

// check requires that store.Check finds no damage and the same state as the open store.
func check(fs *crashfs.FS, lsn int64, digest string) error {
	report, err := store.Check(fs)
	switch {
	case err != nil:
		return fmt.Errorf("check: %w", err)
	case len(report.Findings) > 0:
		return fmt.Errorf("check: %v", report.Findings)
	case report.LSN != lsn || report.Digest != digest:
		return fmt.Errorf("check reads another state, of LSN %d, than the store, of %d", report.LSN, lsn)
	}
	return nil
}

// crashRecovery crashes the recovery itself at each of its operations, and requires the same of the next.
func crashRecovery(crashed *run, first crash, ref *reference) (runs int64, err error) {
	for n := 1; ; n++ {
		second := first.recover(crashed)
		second.fs.CrashAt(n)
		if err := second.open(); err == nil {
			return runs, nil
		}
		c := crash{n: n, op: "of the recovery", variant: crashfs.Torn, seed: first.seed}
		if err := c.recover(second).verify(ref); err != nil {
			return runs, fmt.Errorf("%v: %w", c, err)
		}
		runs++
	}
}
