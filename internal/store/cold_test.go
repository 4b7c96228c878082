package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// twoStores are the same but for the spaces that are cold: one packs all small spaces, the other none.
type twoStores struct {
	fs       [2]*crashfs.FS
	st       [2]*store.Store
	clock    memtest.Clock
	mostCold int
}

func (w *twoStores) open(t *rapid.T) {
	for i, packFrom := range []int{2, 1 << 30} {
		st, err := store.Open(store.Config{FS: w.fs[i], Now: w.clock.Now, Logger: slog.New(slog.DiscardHandler),
			SegmentSize: small, PackFrom: packFrom})
		if err != nil {
			t.Fatal(err)
		}
		w.st[i] = st
	}
}

// both does the same with both stores.
func (w *twoStores) both(t *rapid.T, do func(*store.Store) error) {
	if errs := [2]error{do(w.st[0]), do(w.st[1])}; errs[0] != nil || errs[1] != nil {
		t.Fatal(errs)
	}
}

// check compares what users see, in the stores and in views of them.
func (w *twoStores) check(t *rapid.T) {
	var views [2]*store.ReadView
	for i, st := range w.st {
		views[i] = st.OpenReadView()
		defer views[i].Close()
	}
	cold := w.st[0].ColdSpaces()
	if w.mostCold = max(w.mostCold, len(cold)); len(w.st[1].ColdSpaces()) > 0 {
		t.Fatal("the store that has no pack has cold spaces")
	}
	var digests []string
	for i := range w.st {
		for _, digest := range []func() (string, error){w.st[i].Digest, views[i].Digest} {
			d, err := digest()
			if err != nil {
				t.Fatal(err)
			}
			digests = append(digests, d)
		}
	}
	if len(slices.Compact(slices.Clone(digests))) != 1 {
		t.Fatalf("with cold spaces %q the digests of store and view are %q, without %q", cold, digests[:2], digests[2:])
	}
	if again := w.st[0].ColdSpaces(); !slices.Equal(cold, again) {
		t.Fatalf("cold are %q after reads, and %q before", again, cold)
	}
	for _, space := range coldNames {
		a, b := w.st[0].Space(space), w.st[1].Space(space)
		if a.Count() != b.Count() || a.Count() != len(a.Memories()) {
			t.Fatalf("%s has %d memories, counted %d; without cold spaces %d", space, len(a.Memories()), a.Count(), b.Count())
		}
		for _, id := range coldIDs {
			have, err := a.Get(id)
			want, wantErr := b.Get(id)
			if (err == nil) != (wantErr == nil) || err == nil && have.Content != want.Content {
				t.Fatalf("%s in %s is %v, %v; without cold spaces %v, %v", id, space, have, err, want, wantErr)
			}
		}
	}
}

var (
	coldNames = []string{"default", "a", "b", "c", "d"}
	coldIDs   = []string{"m1", "m2", "m3"}
	coldSpace = rapid.SampledFrom(coldNames)
	coldID    = rapid.SampledFrom(coldIDs)
)

// actions are what happens to both stores.
func (w *twoStores) actions() map[string]func(*rapid.T) {
	write := func(t *rapid.T, fn func(tx *store.Tx) error) {
		w.clock.Advance(1)
		meta := store.Meta{Space: coldSpace.Draw(t, "space"), Actor: journal.ActorClient}
		w.both(t, func(st *store.Store) error {
			_, err := st.Update(t.Context(), meta, fn)
			return err
		})
	}
	return map[string]func(*rapid.T){
		"put": func(t *rapid.T) {
			id, text := coldID.Draw(t, "id"), rapid.SampledFrom([]string{"one", "two", "三"}).Draw(t, "text")
			write(t, func(tx *store.Tx) error {
				m := memtest.Fact(id, text)
				m.CreatedAt, m.UpdatedAt = memtest.Epoch, memtest.Epoch
				if tx.Equal(m.Category, m.Content) != nil {
					m.Content += " again"
				}
				return tx.Put(m)
			})
		},
		"remove": func(t *rapid.T) {
			id := coldID.Draw(t, "id")
			write(t, func(tx *store.Tx) error { tx.Remove(id); return nil })
		},
		"summary": func(t *rapid.T) {
			write(t, func(tx *store.Tx) error { tx.SetSummary(fmt.Sprint("up to ", tx.LSN())); return nil })
		},
		"log": func(t *rapid.T) {
			id := rapid.StringMatching("e[a-z]{8}").Draw(t, "entry")
			write(t, func(tx *store.Tx) error { return tx.AppendEntry("2026-02-20", entry(id, tx.Now())) })
		},
		"nothing": func(t *rapid.T) { write(t, func(tx *store.Tx) error { tx.Memory("m1"); return nil }) },
		"access": func(t *rapid.T) {
			space, id := coldSpace.Draw(t, "space"), coldID.Draw(t, "id")
			w.both(t, func(st *store.Store) error {
				st.CountAccess(space, []string{id}, w.clock.Now())
				return st.FlushAccesses(t.Context())
			})
		},
		"undo": func(t *rapid.T) {
			op := w.st[0].LSN() - int64(rapid.IntRange(0, 5).Draw(t, "back"))
			var said [2]string
			for i, st := range w.st {
				_, err := st.Undo(t.Context(), store.Meta{Actor: journal.ActorClient}, op)
				said[i] = fmt.Sprint(err)
			}
			if said[0] != said[1] {
				t.Fatalf("undo of %d with cold spaces says %q, without %q", op, said[0], said[1])
			}
		},
		"drop": func(t *rapid.T) {
			space := rapid.SampledFrom(coldNames[1:]).Draw(t, "space")
			w.both(t, func(st *store.Store) error {
				if _, _, changed := st.Space(space).Look(nil); changed > 0 {
					return st.Drop(t.Context(), space, changed)
				}
				return nil
			})
		},
		"checkpoint": func(t *rapid.T) {
			w.both(t, func(st *store.Store) error { _, err := st.Checkpoint(t.Context()); return err })
		},
		"restart": func(t *rapid.T) {
			w.both(t, func(st *store.Store) error { return st.Close(context.WithoutCancel(t.Context())) })
			w.crash(t, crashfs.Lost)
		},
		"crash": func(t *rapid.T) { w.crash(t, crashfs.CrashMode(rapid.IntRange(0, 2).Draw(t, "how"))) },
		"":      w.check,
	}
}

func (w *twoStores) crash(t *rapid.T, how crashfs.CrashMode) {
	for i := range w.fs {
		w.fs[i] = w.fs[i].Crash(how, rand.New(rand.NewPCG(uint64(w.st[i].LSN()), 1)))
	}
	w.open(t)
}

// TestColdSpaces: whatever happens, nobody sees which spaces are cold.
func TestColdSpaces(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		w := &twoStores{fs: [2]*crashfs.FS{crashfs.New(), crashfs.New()}}
		w.open(t)
		t.Repeat(w.actions())
		most = max(most, w.mostCold)
	})
	if most < 3 {
		t.Errorf("at most %d spaces were cold at a time", most)
	}
}

// coldStore has as many spaces of two memories, all cold.
func coldStore(t *testing.T, spaces int) *run {
	t.Helper()
	r := &run{fs: crashfs.New()}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	for i := range spaces {
		space := fmt.Sprintf("space%03d", i)
		if err := errors.Join(r.add(space, "a", "the visitor prefers tea"), r.add(space, "b", "the port is 8443")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.st.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if cold := r.st.ColdSpaces(); len(cold) < spaces {
		t.Fatalf("cold are %q", cold)
	}
	return r
}

// TestColdBesideWriters: readers find every space whole, as it was or as it is, while others write, and while snapshots
// make spaces cold.
func TestColdBesideWriters(t *testing.T) {
	const spaces, rounds = 6, 40
	r := coldStore(t, spaces)
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for i := range spaces {
		v := r.st.Space(fmt.Sprintf("space%03d", i))
		writers.Go(func() {
			for n := range rounds {
				if err := r.update(store.Meta{Space: v.Name()}, func(tx *store.Tx) error {
					m := tx.Memory("a").Clone()
					m.Content = fmt.Sprint("cups of tea: ", n)
					return tx.Put(m)
				}); err != nil {
					t.Error(err)
				}
			}
		})
		readers.Go(func() {
			newest := int64(0)
			for {
				select {
				case <-done:
					return
				default:
				}
				c, _ := v.ContentsAt()
				if len(c.Memories) != 2 || v.Count() != 2 || c.Memories[0].ID != "a" || c.Memories[0].Revision < newest {
					t.Errorf("%s has %d memories, the first of operation %d, and had %d", v.Name(), len(c.Memories),
						c.Memories[0].Revision, newest)
					return
				}
				newest = c.Memories[0].Revision
			}
		})
	}
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if _, err := r.st.Checkpoint(context.Background()); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
	want, err := r.st.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r.fs = r.fs.Crash(crashfs.Lost, nil)
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	if got, err := r.st.Digest(); err != nil || got != want {
		t.Errorf("another state after a restart: %v", err)
	}
}

// TestColdAfterStart: a start leaves the memories of packed spaces cold, and one write makes one of them warm.
func TestColdAfterStart(t *testing.T) {
	r := coldStore(t, 5)
	if err := r.restart(); err != nil {
		t.Fatal(err)
	}
	before := r.st.ColdSpaces()
	if len(before) < 5 {
		t.Fatalf("cold are %q", before)
	}
	if err := r.add("space002", "c", "the printer is upstairs"); err != nil {
		t.Fatal(err)
	}
	if after := r.st.ColdSpaces(); slices.Contains(after, "space002") || len(after) != len(before)-1 {
		t.Errorf("cold are %q after a write to space002, %q before", after, before)
	}
}

// TestPackDamagedLater: of a pack that is damaged while the store is open, a writer gets an error that names it, a
// reader ends the process with the same one, no snapshot copies it, and the next start refuses it.
func TestPackDamagedLater(t *testing.T) {
	r := coldStore(t, 5)
	name := newest(t, r.fs, "+1.space")
	corrupt(t, r.fs, name)
	named := func(err error) bool {
		damaged, ok := errors.AsType[*journal.CorruptError](err)
		return ok && damaged.File == name
	}
	if err := r.add("space002", "c", "the printer is upstairs"); !named(err) {
		t.Errorf("a writer's error is %v", err)
	}
	func() {
		defer func() {
			if err, _ := recover().(error); !named(err) {
				t.Errorf("a reader ends with %v", err)
			}
		}()
		t.Errorf("a reader finds %d memories", len(r.st.Space("space003").Memories()))
	}()
	for i := range 3 { // with them the pack is worth to be written again
		if err := r.add(fmt.Sprint("another", i), "a", "the printer is upstairs"); err != nil {
			t.Errorf("another space: %v", err)
		}
	}
	if _, err := r.st.Checkpoint(t.Context()); !named(err) {
		t.Errorf("a snapshot's error is %v", err)
	}
	r.fs = r.fs.Crash(crashfs.Lost, nil)
	if err := r.open(); !named(err) {
		t.Errorf("the start's error is %v", err)
	}
}

// TestPurgeOfCold: what was purged is in no pack.
func TestPurgeOfCold(t *testing.T) {
	r := coldStore(t, 5)
	if err := r.restart(); err != nil {
		t.Fatal(err)
	}
	p, err := r.st.PlanPurge(t.Context(), store.PurgeRequest{Space: "space001", IDs: []string{"a"}, Reason: "asked for"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Commit(t.Context()), p.Rewrite(t.Context()), p.Finish()); err != nil {
		t.Fatal(err)
	}
	if len(r.st.ColdSpaces()) < 5 || bytes.Contains(r.st.ColdLines(), []byte("tea")) {
		t.Errorf("%d spaces are cold, with %s", len(r.st.ColdSpaces()), r.st.ColdLines())
	}
	for _, space := range r.st.Spaces() {
		for _, m := range r.st.Space(space).Memories() {
			if strings.Contains(m.Content, "tea") {
				t.Errorf("%s in %s is %q", m.ID, space, m.Content)
			}
		}
	}
}

// TestDamagedPack: a damaged pack is refused at the start by its name, and no space of it is empty instead.
func TestDamagedPack(t *testing.T) {
	r := coldStore(t, 5)
	if err := r.st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, err := r.fs.ReadDir("snapshots")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		if name := "snapshots/" + e.Name(); strings.HasPrefix(e.Name(), "+") {
			corrupt(t, r.fs, name)
			err := r.open()
			if damaged, ok := errors.AsType[*journal.CorruptError](err); !ok || damaged.File != name {
				t.Errorf("%s is damaged, and the error is %v", name, err)
			}
			return
		}
	}
	t.Fatal("there is no pack")
}
