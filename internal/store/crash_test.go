package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

var crashFull = flag.Bool("crash.full", false, "crash with 16 torn variants instead of 3, and in every operation of every recovery")

// small makes the workload pass through several segments.
const small = 96 << 10

var epoch = time.Date(2026, 2, 21, 10, 30, 0, 0, time.UTC)

// run is one life, or several, of a store under the workload.
type run struct {
	t       *testing.T
	fs      *crashfs.FS
	st      *store.Store
	step    int              // steps done; the clock follows it
	acked   int64            // newest LSN acknowledged
	digests map[int64]string // reference digests by LSN, filled when record is set
	record  bool
}

func (r *run) now() time.Time { return epoch.Add(time.Duration(r.step) * time.Minute) }

func (r *run) open() error {
	st, err := store.Open(store.Config{FS: r.fs, Now: r.now, Logger: slog.New(slog.DiscardHandler), SegmentSize: small})
	if err != nil {
		return err
	}
	r.st = st
	return nil
}

func (r *run) update(meta store.Meta, fn func(*store.Tx) error) error {
	if meta.Actor == "" {
		meta.Actor = journal.ActorClient
	}
	_, err := r.st.Update(context.Background(), meta, fn)
	return err
}

func draft(id, content string) *memory.Memory {
	return &memory.Memory{ID: id, Category: memory.Facts, Content: content, Source: memory.SourceUser, Salience: 0.5, Confidence: 1}
}

func (r *run) add(space, id, content string) error {
	return r.update(store.Meta{Space: space, Key: "add-" + id}, func(tx *store.Tx) error { return tx.Put(draft(id, content)) })
}

func (r *run) change(id string, f func(*memory.Memory)) error {
	return r.update(store.Meta{}, func(tx *store.Tx) error {
		m := tx.Memory(id)
		if m == nil {
			return &memory.NotFoundError{Kind: "memory", Name: id}
		}
		m = m.Clone()
		f(m)
		return tx.Put(m)
	})
}

func (r *run) undoLast() error {
	for rec, err := range r.st.Operations(context.Background(), 1, math.MaxInt64, true, false) {
		if err != nil {
			return err
		}
		_, err := r.st.Undo(context.Background(), store.Meta{Key: fmt.Sprint("undo-", r.step)}, rec.Op)
		return err
	}
	return nil
}

func entry(id string, at time.Time) *memory.Entry {
	return &memory.Entry{ID: id, Time: at.Format(time.TimeOnly), At: at, Type: memory.EntryEvent, Content: "finished " + id}
}

// workload passes through every kind of write. A step that was acknowledged is not run again after a crash; one that was not, is: each is
// idempotent or harmless twice.
func (r *run) workload() []func() error {
	bg := context.Background()
	log := func(date, id string) func() error {
		return func() error {
			return r.update(store.Meta{Key: "log-" + id}, func(tx *store.Tx) error { return tx.AppendEntry(date, entry(id, r.now())) })
		}
	}
	return []func() error{
		func() error { return r.add("", "m1", "the API listens on port 8443") },
		func() error { return r.add("work", "w1", "用户偏好东方航空") },
		func() error {
			return r.update(store.Meta{Key: "batch"}, func(tx *store.Tx) error {
				for i := range 20 {
					if err := tx.Put(draft(fmt.Sprint("b", i), strings.Repeat(fmt.Sprint("fact ", i, " "), 20))); err != nil {
						return err
					}
					tx.Report(journal.Outcome{ID: fmt.Sprint("b", i), Status: journal.Applied})
				}
				return nil
			})
		},
		func() error {
			return r.change("m1", func(m *memory.Memory) { m.Content = "the API listens on port 9443" })
		},
		log("2026-01-20", "e1"), log("2026-01-20", "e2"), log("2026-02-21", "e3"),
		func() error {
			return r.update(store.Meta{Essential: true}, func(tx *store.Tx) error {
				m := tx.Memory("b3").Clone()
				m.Status = memory.Retired
				tx.Forget(m.Content, false)
				return tx.Put(m)
			})
		},
		func() error { _, err := r.st.Checkpoint(bg); return err },
		func() error {
			return r.update(store.Meta{}, func(tx *store.Tx) error { tx.SetSummary("writes Go"); return nil })
		},
		func() error {
			r.st.Touch(memory.DefaultSpace, []string{"m1", "b2"}, r.now())
			return r.st.FlushTouches(bg)
		},
		func() error {
			return r.update(store.Meta{Key: "session"}, func(tx *store.Tx) error {
				tx.PutSession(&memory.Session{ID: "s1", State: memory.SessionOpen, StartedAt: r.now(), LastAt: r.now(), Messages: 2, NextSeq: 3})
				for seq := range int64(2) {
					tx.AppendMessage("s1", &memory.Message{Seq: seq + 1, At: r.now(), Role: "user", Content: "remember the port"})
				}
				return nil
			})
		},
		func() error { // an operation of several records
			return r.update(store.Meta{Key: "long"}, func(tx *store.Tx) error {
				for i := range 40 {
					m := draft(fmt.Sprint("long", i), "long")
					m.Content = fmt.Sprint("long ", i)
					m.StructuredData = []byte(`{"text":"` + strings.Repeat("x", 40_000) + `"}`)
					if err := tx.Put(m); err != nil {
						return err
					}
				}
				return nil
			})
		},
		func() error {
			return r.update(store.Meta{Actor: journal.ActorReflect, Session: "s1", Key: "reflect"}, func(tx *store.Tx) error {
				s := *tx.Session("s1")
				s.State, s.ReflectedSeq, s.ReflectedOp = memory.SessionReflected, s.NextSeq, tx.LSN()
				tx.PutSession(&s)
				return errors.Join(tx.Put(draft("r1", "the port is 9443")), tx.AppendEntry("2026-02-21", entry("e4", r.now())))
			})
		},
		func() error { return r.undoLast() },
		func() error { return r.undoLast() },
		func() error {
			return r.update(store.Meta{Actor: journal.ActorArchive, Key: "archive"}, func(tx *store.Tx) error {
				tx.SetDay(&memory.Day{Date: "2026-01-20", Summary: "finished two things", Archived: true})
				return tx.Put(draft("p1", "promoted"))
			})
		},
		func() error { _, err := r.st.Checkpoint(bg); return err },
		func() error {
			d, entries, err := r.st.Space("").Log("2026-01-20")
			if errors.Is(err, memory.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			return r.update(store.Meta{Actor: journal.ActorArchive}, func(tx *store.Tx) error { return tx.RemoveDay(d, entries) })
		},
		func() error {
			if len(r.st.Space("").Days()) > 1 {
				return nil
			}
			return r.undoLast()
		},
		func() error { return r.add("", "m2", strings.Repeat("后来 ", 900)) },
		func() error { err := r.st.Close(bg); return errors.Join(err, r.openAgain(err)) },
		func() error { return r.change("m2", func(m *memory.Memory) { m.Content = "later" }) },
		func() error { return r.add("work", "w2", "quick") },
		func() error { return r.st.Close(bg) },
	}
}

func (r *run) openAgain(err error) error {
	if err != nil {
		return nil
	}
	return r.open()
}

// steps runs the workload from where it stands until the first error.
func (r *run) steps() error {
	for steps := r.workload(); r.step < len(steps); r.step++ {
		if err := steps[r.step](); err != nil {
			return fmt.Errorf("step %d: %w", r.step, err)
		}
		r.acked = r.st.LSN()
		if r.record {
			digest, err := r.st.Digest()
			if err != nil {
				return err
			}
			r.digests[r.acked] = digest
		}
	}
	return nil
}

func reference(t *testing.T) *run {
	t.Helper()
	r := &run{t: t, fs: crashfs.New(), digests: map[int64]string{0: emptyDigest(t)}, record: true}
	if err := errors.Join(r.open(), r.steps()); err != nil {
		t.Fatal(err)
	}
	return r
}

func emptyDigest(t *testing.T) string {
	t.Helper()
	r := &run{t: t, fs: crashfs.New()}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	digest, err := r.st.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestCrashAtEveryOperation crashes the workload at every operation of the file system, in every variant, and requires that the store opens, holds
// everything acknowledged, holds nothing half, has no damage, and ends like the run without a crash when the workload goes on.
func TestCrashAtEveryOperation(t *testing.T) {
	ref := reference(t)
	final := ref.digests[ref.acked]
	total, torn, runs := ref.fs.Ops(), 3, 0
	if *crashFull {
		torn = 16
	}
	if testing.Short() {
		torn = 1
	}
	for n := 1; n <= total; n++ {
		crashed := &run{t: t, fs: crashfs.New()}
		crashed.fs.CrashAt(n)
		err := crashed.open()
		if err == nil {
			err = crashed.steps()
		}
		if err == nil || !crashed.fs.Crashed() {
			t.Fatalf("operation %d: the run ended without a crash: %v", n, err)
		}
		for v := range 2 + torn {
			variant := crashfs.Torn
			if v < 2 {
				variant = []crashfs.Variant{crashfs.Lost, crashfs.Kept}[v]
			}
			name := fmt.Sprintf("crash at %d (%s), variant %v/%d", n, ref.fs.Trace()[n-1], variant, v)
			fs := crashed.fs.Crash(variant, rand.New(rand.NewPCG(uint64(n), uint64(v))))
			recovered := &run{t: t, fs: fs, step: crashed.step, acked: crashed.acked}
			recovered.verify(name, ref, final)
			runs++
			if *crashFull || (n+v)%7 == 0 {
				runs += crashRecovery(t, name, crashed, variant, uint64(v), ref, final)
			}
		}
	}
	t.Logf("%d operations, each crashed in %d variants; %d recoveries, 0 acknowledged writes missing, 0 half applied", total, 2+torn, runs)
}

// verify opens the store after a crash, checks it, and brings the workload to its end.
func (r *run) verify(name string, ref *run, final string) {
	r.t.Helper()
	if err := r.open(); err != nil {
		r.t.Fatalf("%s: does not open: %v", name, err)
	}
	lsn := r.st.LSN()
	if lsn < r.acked {
		r.t.Fatalf("%s: LSN %d after recovery, %d was acknowledged", name, lsn, r.acked)
	}
	digest, err := r.st.Digest()
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	if want, ok := ref.digests[lsn]; ok && digest != want {
		r.t.Fatalf("%s: the state at LSN %d is not that of a run without a crash", name, lsn)
	} else if !ok {
		r.t.Fatalf("%s: recovered to LSN %d, which is in the middle of an operation", name, lsn)
	}
	report, err := store.Check(r.fs)
	if err != nil || len(report.Findings) > 0 {
		r.t.Fatalf("%s: check: %v %v", name, report.Findings, err)
	}
	// The clock must be where the reference had it: an operation that survived unacknowledged is done.
	if err := r.steps(); err != nil {
		r.t.Fatalf("%s: the workload does not go on: %v", name, err)
	}
	if err := r.open(); err != nil {
		r.t.Fatalf("%s: does not open at the end: %v", name, err)
	}
	if report, err := store.Check(r.fs); err != nil || len(report.Findings) > 0 {
		r.t.Fatalf("%s: check at the end: %v %v", name, report.Findings, err)
	}
	if got := contents(r.st); got != contents(ref.reopened(r.t)) {
		r.t.Fatalf("%s: ends as\n%s\nnot as\n%s", name, got, contents(ref.reopened(r.t)))
	}
	_ = final
}

// reopened is the reference store at its end.
func (r *run) reopened(t *testing.T) *store.Store {
	t.Helper()
	if r.st.LSN() > 0 && r.step >= 0 {
		r.step = -1
		if err := r.open(); err != nil {
			t.Fatal(err)
		}
	}
	return r.st
}

// contents is what users see, without times and revisions, which differ when a step was repeated after a crash.
func contents(st *store.Store) string {
	var b strings.Builder
	for _, name := range st.Spaces() {
		v := st.Space(name)
		fmt.Fprintf(&b, "space %s, %d forgotten, summary %q\n", name, len(v.Forgotten()), v.Summary())
		for _, m := range v.Memories() {
			fmt.Fprintf(&b, "%s %s %.40s\n", m.ID, m.Status, m.Content)
		}
		for _, d := range v.Days() {
			_, entries, err := v.Log(d.Date)
			fmt.Fprintf(&b, "log %s %d archived=%v %d %v\n", d.Date, d.Entries, d.Archived, len(entries), err)
		}
		for _, s := range v.Sessions() {
			messages, err := v.Messages(s.ID, 0)
			fmt.Fprintf(&b, "session %s %s %d %v\n", s.ID, s.State, len(messages), err)
		}
	}
	return b.String()
}

// crashRecovery crashes the recovery itself at each of its operations, and requires the same of the next.
func crashRecovery(t *testing.T, name string, crashed *run, variant crashfs.Variant, seed uint64, ref *run, final string) (runs int) {
	t.Helper()
	for n := 1; ; n++ {
		fs := crashed.fs.Crash(variant, rand.New(rand.NewPCG(uint64(n), seed)))
		fs.CrashAt(n)
		again := &run{t: t, fs: fs, step: crashed.step, acked: crashed.acked}
		if err := again.open(); err == nil {
			return runs
		}
		third := &run{t: t, fs: fs.Crash(crashfs.Torn, rand.New(rand.NewPCG(seed, uint64(n)))), step: crashed.step, acked: crashed.acked}
		third.verify(fmt.Sprintf("%s, recovery crashed at %d", name, n), ref, final)
		runs++
	}
}

// TestErrorAtEveryOperation lets every operation of the workload fail once, with EIO and with ENOSPC, and requires that what was acknowledged is
// there afterwards, whether the store went on, refused or turned read-only.
func TestErrorAtEveryOperation(t *testing.T) {
	ref := reference(t)
	total, runs := ref.fs.Ops(), 0
	for _, fault := range []struct {
		name string
		set  func(*crashfs.FS, int)
	}{
		{"EIO", func(f *crashfs.FS, n int) { f.FailAt(n, syscall.EIO) }},
		{"ENOSPC", func(f *crashfs.FS, n int) { f.FailAt(n, syscall.ENOSPC) }},
		{"ENOSPC after a part", func(f *crashfs.FS, n int) { f.FailPartial(n, syscall.ENOSPC) }},
	} {
		for n := 1; n <= total; n++ {
			failed := &run{t: t, fs: crashfs.New()}
			fault.set(failed.fs, n)
			name := fmt.Sprintf("%s at %d (%s)", fault.name, n, ref.fs.Trace()[n-1])
			if err := failed.open(); err == nil {
				err = failed.steps()
				if failed.st.Err() != nil && err == nil && failed.step < len(failed.workload()) {
					t.Fatalf("%s: read-only, but the workload went on", name)
				}
			}
			for _, variant := range []crashfs.Variant{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
				fs := failed.fs.Crash(variant, rand.New(rand.NewPCG(uint64(n), 1)))
				after := &run{t: t, fs: fs, step: failed.step, acked: failed.acked}
				if err := after.open(); err != nil {
					t.Fatalf("%s, then %v: does not open: %v", name, variant, err)
				}
				if lsn := after.st.LSN(); lsn < failed.acked {
					t.Fatalf("%s, then %v: LSN %d, %d was acknowledged", name, variant, lsn, failed.acked)
				}
				if report, err := store.Check(fs); err != nil || len(report.Findings) > 0 {
					t.Fatalf("%s, then %v: check: %v %v", name, variant, report.Findings, err)
				}
				runs++
			}
		}
	}
	t.Logf("%d operations, each failed in 3 ways; %d recoveries, 0 acknowledged writes missing", total, runs)
}
