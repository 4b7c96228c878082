package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// small makes the workload pass through several segments, and splits operations at 3 KiB.
const small = 24 << 10

// run is one life, or several, of a store under the workload.
type run struct {
	fs      *crashfs.FS
	st      *store.Store
	step    int              // steps done; the clock follows it
	acked   int64            // newest LSN acknowledged
	digests map[int64]string // reference digests by LSN; filled when it is not nil

	compressed int // segments
}

func (r *run) now() time.Time { return memtest.Epoch.Add(time.Duration(r.step) * time.Minute) }

func (r *run) open() error {
	st, err := store.Open(store.Config{FS: r.fs, Now: r.now, Logger: slog.New(slog.DiscardHandler), SegmentSize: small,
		PackFrom: 2}) // so that spaces share files of snapshots
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

func (r *run) add(space, id, content string) error {
	return r.update(store.Meta{Space: space, Key: "add-" + id}, func(tx *store.Tx) error {
		return tx.Put(memtest.Fact(id, content))
	})
}

func (r *run) change(id, content string) error {
	return r.update(store.Meta{}, func(tx *store.Tx) error {
		m := tx.Memory(id)
		if m == nil {
			return &memory.NotFoundError{Kind: "memory", Name: id}
		}
		m = m.Clone()
		m.Content = content
		return tx.Put(m)
	})
}

func (r *run) undoLast() error {
	for rec, err := range r.st.OperationsBackward(context.Background(), 1, math.MaxInt64) {
		if err != nil {
			return err
		}
		if !store.Significant(rec) {
			continue
		}
		_, err := r.st.Undo(context.Background(), store.Meta{Key: fmt.Sprint("undo-", r.step)}, rec.Op)
		return err
	}
	return nil
}

func (r *run) log(date, id string) error {
	return r.update(store.Meta{Key: "log-" + id}, func(tx *store.Tx) error {
		return tx.AppendEntry(date, entry(id, r.now()))
	})
}

func entry(id string, at time.Time) *memory.Entry {
	return &memory.Entry{ID: id, Time: at.Format(time.TimeOnly), At: at, Type: memory.EntryEvent, Content: "finished " +
		id}
}

// workload passes through every kind of write. A step that was acknowledged is not run again after a crash; one that
// was not, is: each is idempotent or harmless twice.
func (r *run) workload() []func() error {
	checkpoint := func() error { _, err := r.st.Checkpoint(context.Background()); return err }
	compress := func() error {
		for {
			did, err := r.st.CompressJournal()
			if err != nil || !did {
				return err
			}
			r.compressed++
		}
	}
	steps := []func() error{
		func() error { return r.add("", "m1", "the API listens on port 8443") },
		func() error { return r.add("work", "w1", "用户偏好东方航空") },
		r.batch,
		func() error { return r.change("m1", "the API listens on port 9443") },
		func() error { return r.log("2026-01-20", "e1") },
		func() error { return r.log("2026-01-20", "e2") },
		func() error { return r.log("2026-02-21", "e3") },
		r.forget,
		checkpoint,
		func() error {
			return r.update(store.Meta{}, func(tx *store.Tx) error { tx.SetSummary("writes Go"); return nil })
		},
		func() error {
			r.st.CountAccess(memory.DefaultSpace, []string{"m1", "b2"}, r.now())
			return r.st.FlushAccesses(context.Background())
		},
		r.session,
		r.long,
		r.reflect,
		r.undoLast,
		r.undoLast,
		r.archive,
		checkpoint,
		compress,
		r.removeDay,
		func() error {
			if len(r.st.Space("").Days()) > 1 {
				return nil
			}
			return r.undoLast()
		},
		func() error { return r.add("", "m2", strings.Repeat("后来 ", 900)) },
		r.restart,
		compress,
		func() error { return r.change("m2", "later") },
		func() error { return r.add("work", "w2", "quick") },
		func() error { return r.add("guest", "g1", "the visitor prefers tea") },
		r.drop,
		checkpoint,
		func() error { return r.add("work", "w3", "slow") },
		func() error { return r.add("guest", "g2", "the visitor is back") },
		func() error { return r.st.Close(context.Background()) },
	}
	return steps
}

func (r *run) batch() error {
	return r.update(store.Meta{Key: "batch"}, func(tx *store.Tx) error {
		for i := range 20 {
			id := fmt.Sprint("b", i)
			if err := tx.Put(memtest.Fact(id, strings.Repeat(fmt.Sprint("fact ", i, " "), 20))); err != nil {
				return err
			}
			tx.Report(journal.Outcome{ID: id, Status: journal.Applied})
		}
		return nil
	})
}

func (r *run) forget() error {
	return r.update(store.Meta{Essential: true}, func(tx *store.Tx) error {
		m := tx.Memory("b3").Clone()
		m.Status = memory.Retired
		tx.Forget(m.Content)
		return tx.Put(m)
	})
}

func (r *run) session() error {
	return r.update(store.Meta{Key: "session"}, func(tx *store.Tx) error {
		tx.PutSession(&memory.Session{ID: "s1", State: memory.SessionOpen, StartedAt: r.now(), LastAt: r.now(),
			Messages: 2, NextSeq: 3})
		for seq := range int64(2) {
			if err := tx.AppendMessage("s1",
				&memory.Message{Seq: seq + 1, At: r.now(), Role: "user", Content: "remember the port"}); err != nil {
				return err
			}
		}
		return nil
	})
}

// long is an operation of many records, larger than a segment.
func (r *run) long() error {
	return r.update(store.Meta{Key: "long"}, func(tx *store.Tx) error {
		for i := range 24 {
			m := memtest.Fact(fmt.Sprint("long", i), fmt.Sprint("long ", i))
			m.SetStructuredData([]byte(`{"text":"` + strings.Repeat("x", 1200) + `"}`))
			if err := tx.Put(m); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *run) reflect() error {
	return r.update(store.Meta{Actor: journal.ActorReflect, Session: "s1", Key: "reflect"}, func(tx *store.Tx) error {
		s := *tx.Session("s1")
		s.State, s.ReflectedSeq, s.ReflectedOp = memory.SessionReflected, s.NextSeq, tx.LSN()
		tx.PutSession(&s)
		return errors.Join(tx.Put(memtest.Fact("r1", "the port is 9443")),
			tx.AppendEntry("2026-02-21", entry("e4", r.now())))
	})
}

func (r *run) archive() error {
	return r.update(store.Meta{Actor: journal.ActorArchive, Key: "archive"}, func(tx *store.Tx) error {
		tx.SetDay(&memory.Day{Date: "2026-01-20", Summary: "finished two things", Archived: true})
		tx.LogArchived(memory.Archived{Date: "2026-01-20", Entries: 2, Summary: "finished two things"})
		return tx.Put(memtest.Fact("p1", "promoted"))
	})
}

func (r *run) removeDay() error {
	d, entries, err := r.st.Space("").Log("2026-01-20")
	if errors.Is(err, memory.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.update(store.Meta{Actor: journal.ActorArchive}, func(tx *store.Tx) error {
		tx.LogDeleted(memory.Archived{Date: d.Date})
		return tx.RemoveDay(d, entries)
	})
}

// drop drops a space that nothing was written to since it is there.
func (r *run) drop() error {
	_, _, changed := r.st.Space("guest").Look(nil)
	if changed == 0 {
		return nil
	}
	return r.st.Drop(context.Background(), "guest", changed)
}

func (r *run) restart() error {
	if err := r.st.Close(context.Background()); err != nil {
		return err
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
		if err := r.note(); err != nil {
			return err
		}
	}
	return nil
}

// note keeps the digest of the present state.
func (r *run) note() error {
	if r.digests == nil {
		return nil
	}
	digest, err := r.st.Digest()
	r.digests[r.st.LSN()] = digest
	return err
}

// contents is what users see, without times, revisions and counts of accesses, which differ when a step was repeated
// after a crash.
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
			fmt.Fprintf(&b, "log %s %d archived=%v %q %d %v\n", d.Date, d.Entries, d.Archived, d.Summary, len(entries),
				err)
		}
		for _, s := range v.Sessions() {
			messages, err := v.Messages(s.ID, 0)
			fmt.Fprintf(&b, "session %s %s %d %v\n", s.ID, s.State, len(messages), err)
		}
	}
	return b.String()
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
