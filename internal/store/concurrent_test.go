package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

const (
	writers   = 64
	perWriter = 12
)

var spaces = []string{"default", "red", "green", "blue"}

// worker is one of many clients of one space.
type worker struct {
	t     *testing.T
	st    *store.Store
	n     int
	space string
	ran   *sync.Map     // the keys whose request was run
	stale *atomic.Int64 // how often another writer was faster
}

func (w *worker) id(i int) string { return fmt.Sprintf("%s-%d-%d", w.space, w.n, i) }

// add sends a request under a key. It reports whether the key was known.
func (w *worker) add(i int) (replayed bool, err error) {
	res, err := w.st.Update(w.t.Context(), store.Meta{Space: w.space, Key: w.id(i)}, func(tx *store.Tx) error {
		if _, again := w.ran.LoadOrStore(w.id(i), true); again {
			w.t.Errorf("the request under %s was run twice", w.id(i))
		}
		return tx.Put(memtest.Fact(w.id(i), "from "+w.space))
	})
	return res.Replayed, err
}

// count raises the counter that all writers of the space share, and tries again when another was faster.
func (w *worker) count() error {
	for {
		m, err := w.st.Space(w.space).Get("counter")
		if err != nil {
			return err
		}
		_, err = w.st.Update(w.t.Context(), store.Meta{Space: w.space}, func(tx *store.Tx) error {
			now := tx.Memory("counter")
			if now.Revision != m.Revision {
				return &memory.StaleError{Kind: "memory", Name: m.ID, Expected: m.Revision, Current: now.Revision}
			}
			next := now.Clone()
			next.SetAccesses(next.AccessCount()+1, next.LastAccessed())
			return tx.Put(next)
		})
		if !errors.Is(err, memory.ErrStale) {
			return err
		}
		w.stale.Add(1)
	}
}

// undone adds a memory and takes it back.
func (w *worker) undone(i int) error {
	id := "undone-" + w.id(i)
	res, err := w.st.Update(w.t.Context(), store.Meta{Space: w.space}, func(tx *store.Tx) error {
		return tx.Put(memtest.Fact(id, "from "+w.space))
	})
	if err != nil {
		return err
	}
	if _, err := w.st.Undo(w.t.Context(), store.Meta{}, res.Op); err != nil {
		return err
	}
	if _, err := w.st.Space(w.space).Get(id); !errors.Is(err, memory.ErrNotFound) {
		return fmt.Errorf("%s is still there: %w", id, err)
	}
	return nil
}

func (w *worker) run() error {
	for i := range perWriter {
		for _, known := range []bool{false, true} {
			if replayed, err := w.add(i); err != nil || replayed != known {
				return fmt.Errorf("%s: replayed=%v, want %v: %w", w.id(i), replayed, known, err)
			}
		}
		if _, err := w.st.Space(w.space).Get(w.id(i)); err != nil { // one's own writes are seen at once
			return err
		}
		if err := errors.Join(w.count(), w.undone(i)); err != nil {
			return err
		}
		for _, m := range w.st.Space(w.space).Memories() {
			if m.Content != "from "+w.space {
				return fmt.Errorf("space %s shows %s", w.space, m.ID)
			}
		}
	}
	return nil
}

// TestConcurrentWriters: 64 writers in 4 spaces, with snapshots in between. Nothing is lost or counted twice, no
// space shows another's memories, a repeated key is applied once, also after a restart, and the feed has every
// operation once and in order.
func TestConcurrentWriters(t *testing.T) {
	disk := crashfs.New()
	st := memtest.Open(t, store.Config{FS: disk, SegmentSize: 256 << 10})
	for _, space := range spaces {
		if _, err := st.Update(t.Context(), store.Meta{Space: space}, func(tx *store.Tx) error {
			return tx.Put(memtest.Fact("counter", "from "+space))
		}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var beside, wg sync.WaitGroup
	var fed []int64
	beside.Go(func() { fed = hashValues(ctx, t, st) })
	beside.Go(func() {
		for ctx.Err() == nil {
			if _, err := st.Checkpoint(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	workers := make([]*worker, writers)
	var ran sync.Map
	var stale atomic.Int64
	for n := range workers {
		workers[n] = &worker{t: t, st: st, n: n, space: spaces[n%len(spaces)], ran: &ran, stale: &stale}
		wg.Go(func() {
			if err := workers[n].run(); err != nil {
				t.Errorf("writer %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	cancel()
	beside.Wait()
	for i, op := range fed {
		if op != int64(i+1) {
			t.Fatalf("the feed's item %d is operation %d", i+1, op)
		}
	}
	total := int64(len(spaces) + writers*perWriter*4)
	if st.LSN() != total {
		t.Errorf("%d operations, want %d", st.LSN(), total)
	}
	if stale.Load() == 0 {
		t.Log("no writer met a stale revision")
	}
	figures := st.JournalStats()
	after := memtest.Open(t, store.Config{FS: disk.Crash(crashfs.Lost, nil)})
	for _, space := range spaces {
		counter, err := after.Space(space).Get("counter")
		if want := int64(writers / len(spaces) * perWriter); err != nil || counter.AccessCount() != want {
			t.Errorf("space %s counted %d, want %d: %v", space, counter.AccessCount(), want, err)
		}
		if n, want := after.Space(space).Count(), 1+writers/len(spaces)*perWriter; n != want {
			t.Errorf("space %s holds %d memories, want %d", space, n, want)
		}
	}
	for _, w := range workers {
		w.st = after
		if replayed, err := w.add(0); err != nil || !replayed {
			t.Errorf("%s after a restart: replayed=%v %v", w.id(0), replayed, err)
		}
	}
	memtest.CheckDir(t, disk.Crash(crashfs.Lost, nil))
	t.Logf("%d operations of %d writers, %d syncs, %d stale revisions reported, 0 lost, 0 applied twice", total,
		writers, figures.Syncs, stale.Load())
}

// hashValues follows the store until ctx ends.
func hashValues(ctx context.Context, t *testing.T, st *store.Store) (ops []int64) {
	for rec, err := range st.Watch(ctx, 0) {
		if err != nil {
			t.Error(err)
			return ops
		}
		if ops = append(ops, rec.Op); rec.Op > st.LSN() {
			t.Errorf("the feed shows %d, durable is %d", rec.Op, st.LSN())
		}
	}
	return ops
}

// slow is a disk whose syncs of the journal wait to be let through.
type slow struct {
	durable.FS
	arrived, open chan struct{}
}

func (s slow) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := s.FS.OpenFile(name, flag, perm)
	return slowFile{f, s}, err
}

type slowFile struct {
	durable.File
	disk slow
}

func (f slowFile) Datasync() error {
	f.disk.arrived <- struct{}{}
	<-f.disk.open
	return f.File.Datasync()
}

// TestReadersSeeOnlyTheDurable: during a sync no reader, no feed and no repeated request sees what it will make
// durable; transactions do.
func TestReadersSeeOnlyTheDurable(t *testing.T) {
	disk := slow{crashfs.New(), make(chan struct{}), make(chan struct{})}
	st := memtest.Open(t, store.Config{FS: disk})
	put := func(key string, then func(tx *store.Tx)) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := st.Update(t.Context(), store.Meta{Key: key}, func(tx *store.Tx) error {
				if then != nil {
					then(tx)
				}
				return tx.Put(memtest.Fact(key, key))
			})
			done <- err
		}()
		return done
	}
	first := put("first", nil)
	<-disk.arrived
	repeated := put("first", nil)
	saw := make(chan bool, 1)
	second := put("second", func(tx *store.Tx) { saw <- tx.Memory("first") != nil })
	if !<-saw {
		t.Error("a later transaction does not see what is about to be durable")
	}
	if _, err := st.Space("").Get("first"); !errors.Is(err, memory.ErrNotFound) || st.LSN() != 0 ||
		st.Space("").Count() != 0 {
		t.Errorf("a reader sees what is not durable: %v", err)
	}
	if digest, err := st.Digest(); err != nil || strings.TrimSpace(digest) == "" {
		t.Error(err)
	}
	if _, err := st.History(t.Context(), "", "first", 1); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("history of what is not durable: %v", err)
	}
	select {
	case err := <-repeated:
		t.Errorf("the repeated request was answered before the first was durable: %v", err)
	case err := <-first:
		t.Errorf("answered before the sync returned: %v", err)
	default:
	}
	disk.open <- struct{}{}
	if err := <-first; err != nil {
		t.Error(err)
	}
	if _, err := st.Space("").Get("first"); err != nil {
		t.Errorf("acknowledged, but not seen: %v", err)
	}
	<-disk.arrived
	if _, err := st.Space("").Get("second"); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("the second is seen before its sync: %v", err)
	}
	disk.open <- struct{}{}
	if err := errors.Join(<-second, <-repeated); err != nil {
		t.Error(err)
	}
}

// TestWatchResumes: the feed goes on where a reader left it, across a restart, and ends with the store.
func TestWatchResumes(t *testing.T) {
	r := &run{fs: crashfs.New()}
	if err := errors.Join(r.open(), r.add("", "m1", "one"), r.long(), r.add("", "m2", "two")); err != nil {
		t.Fatal(err)
	}
	var all []int64
	for rec, err := range r.st.Watch(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, rec.Op); rec.Last() == r.st.LSN() {
			break
		}
	}
	if len(all) != 3 {
		t.Fatalf("the feed shows %v", all)
	}
	if err := r.restart(); err != nil {
		t.Fatal(err)
	}
	got := make(chan int64)
	go func() {
		defer close(got)
		// from the middle: the rest of that operation is not shown again
		for rec, err := range r.st.Watch(context.Background(), all[1]) {
			if err != nil {
				t.Error(err)
				return
			}
			got <- rec.Op
		}
	}()
	if op := <-got; op != all[2] {
		t.Errorf("resumed at %d, want %d", op, all[2])
	}
	if err := r.add("", "m3", "three"); err != nil {
		t.Fatal(err)
	}
	if op := <-got; op != r.st.LSN() {
		t.Errorf("then %d, want %d", op, r.st.LSN())
	}
	if err := r.st.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if op, open := <-got; open {
		t.Errorf("after the end %d", op)
	}
}

// TestAccesses: counts are journaled in batches, survive from then on, and do not count as changes.
func TestAccesses(t *testing.T) {
	r := &run{fs: crashfs.New()}
	if err := errors.Join(r.open(), r.add("", "m1", "one")); err != nil {
		t.Fatal(err)
	}
	at := memtest.Epoch.Add(1)
	for range 3 {
		r.st.CountAccess(memory.DefaultSpace, []string{"m1", "unknown"}, at)
	}
	if err := r.st.FlushAccesses(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.fs = r.fs.Crash(crashfs.Lost, nil)
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	m, err := r.st.Space("").Get("m1")
	if err != nil || m.AccessCount() != 3 || !m.LastAccessed().Equal(at) || m.Revision != 1 {
		t.Fatalf("%+v %v", m, err)
	}
}

// TestManyAccesses: many are journaled in several operations, none of which keeps readers waiting for long.
func TestManyAccesses(t *testing.T) {
	const memories = 600
	r := &run{fs: crashfs.New()}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range memories {
		ids = append(ids, fmt.Sprintf("m%03d", i))
		if err := r.add("", ids[i], "text"); err != nil {
			t.Fatal(err)
		}
	}
	before := r.st.JournalStats().Syncs
	r.st.CountAccess(memory.DefaultSpace, ids, memtest.Epoch.Add(1))
	if err := r.st.FlushAccesses(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := r.st.JournalStats().Syncs - before; n != 3 {
		t.Errorf("%d groups for %d accesses, want 3 of at most 256 each", n, memories)
	}
	for _, id := range ids {
		if m, err := r.st.Space("").Get(id); err != nil || m.AccessCount() != 1 {
			t.Fatalf("%s: %+v, %v", id, m, err)
		}
	}
}
