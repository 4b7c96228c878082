package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

const benchText = "The deploy script of the billing service needs AWS_PROFILE=prod and takes about four minutes; run " +
	"it from the release branch only."

func benchDir(b *testing.B) durable.FS {
	b.Helper()
	root, err := os.OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = root.Close() })
	return durable.Dir(root)
}

func benchOpen(b *testing.B, fsys durable.FS) *store.Store {
	b.Helper()
	st, err := store.Open(store.Config{FS: fsys, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	return st
}

// grow adds n memories, a thousand to an operation.
func grow(b *testing.B, st *store.Store, n int) {
	b.Helper()
	for from := 0; from < n; from += 1000 {
		_, err := st.Update(context.Background(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			for i := from; i < min(from+1000, n); i++ {
				if err := tx.Put(memtest.Fact(fmt.Sprint("old-", i), fmt.Sprint(i, " ", benchText))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

var benchIDs atomic.Int64

func addOne(ctx context.Context, st *store.Store) error {
	_, err := st.Update(ctx, store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		return tx.Put(memtest.Fact(fmt.Sprint("new-", benchIDs.Add(1)), benchText))
	})
	return err
}

// BenchmarkFloor is what no acknowledged write can be faster than: one write of a record's size and one fdatasync, in
// allocated space.
func BenchmarkFloor(b *testing.B) {
	f, err := benchDir(b).OpenFile("floor", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Allocate(64 << 20); err != nil {
		b.Fatal(err)
	}
	line, at := make([]byte, 600), int64(0)
	for b.Loop() {
		if _, err := f.WriteAt(line, at%(60<<20)); err != nil {
			b.Fatal(err)
		}
		if err := f.Datasync(); err != nil {
			b.Fatal(err)
		}
		at += int64(len(line))
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, size := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("store=%d", size), func(b *testing.B) {
			st := benchOpen(b, benchDir(b))
			grow(b, st, size)
			for b.Loop() {
				if err := addOne(b.Context(), st); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAddParallel has 64 writers and reports how many share a sync.
func BenchmarkAddParallel(b *testing.B) {
	st := benchOpen(b, benchDir(b))
	before := st.JournalStats().Syncs
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := addOne(context.Background(), st); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(st.JournalStats().Syncs-before)/float64(b.N), "syncs/op")
}

func BenchmarkAddBatch100(b *testing.B) {
	st := benchOpen(b, benchDir(b))
	for b.Loop() {
		_, err := st.Update(b.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			for range 100 {
				if err := tx.Put(memtest.Fact(fmt.Sprint("new-", benchIDs.Add(1)), benchText)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHistory reads the 20 operations of one memory among 90,000.
func BenchmarkHistory(b *testing.B) {
	st := benchOpen(b, memSync{benchDir(b)})
	for i := range 90_000 {
		id := fmt.Sprint("m", i%4500)
		_, err := st.Update(context.Background(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			return tx.Put(memtest.Fact(id, fmt.Sprint(i, " ", benchText)))
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		recs, err := st.History(b.Context(), memory.DefaultSpace, "m2000", 100)
		if err != nil || len(recs) != 20 {
			b.Fatal(len(recs), err)
		}
	}
}

// BenchmarkOpen opens a store of 100,000 memories from its snapshot.
func BenchmarkOpen(b *testing.B) {
	fsys := benchDir(b)
	st := benchOpen(b, fsys)
	grow(b, st, 100_000)
	if err := st.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if n := benchOpen(b, fsys).Space("").Count(); n != 100_000 {
			b.Fatal(n)
		}
	}
}

// BenchmarkCheckpoint writes a snapshot of 100,000 memories after one of them changed.
func BenchmarkCheckpoint(b *testing.B) {
	st := benchOpen(b, benchDir(b))
	grow(b, st, 100_000)
	for b.Loop() {
		if err := addOne(b.Context(), st); err != nil {
			b.Fatal(err)
		}
		if _, err := st.Checkpoint(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
