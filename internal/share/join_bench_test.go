package share_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// startOnDisk is start on a directory, with the segments of a daemon.
func startOnDisk(b *testing.B) *node {
	b.Helper()
	root, err := os.OpenRoot(b.TempDir())
	must(b, err)
	n := &node{t: b, fs: durable.Dir(root), share: share.New()}
	logger := slog.New(slog.DiscardHandler)
	n.store, err = store.Open(store.Config{FS: n.fs, Now: time.Now, Logger: logger,
		Projections: []store.Projection{n.share}, Needed: n.share.Needed, ReadOnly: n.share.ReadOnly})
	must(b, err)
	must(b, n.share.Open(b.Context(), share.Config{Store: n.store, FS: n.fs, Now: time.Now, Logger: logger,
		Location: time.UTC, Host: "test", Erase: n.erase, Mirror: words}))
	n.connect()
	b.Cleanup(func() {
		n.stop()
		_ = n.store.Close(context.Background())
		_ = root.Close()
	})
	return n
}

// BenchmarkJoin joins a space of 10,000 memories of ordinary size.
func BenchmarkJoin(b *testing.B) {
	const size, batch = 10_000, 1000
	address := postgres.Start(b).Database(b, "joins")
	a := startOnDisk(b)
	for from := 0; from < size; from += batch {
		a.update(func(tx *store.Tx) error {
			for i := from; i < from+batch; i++ {
				m := memtest.Fact(store.NewID(), fmt.Sprintf("Service %d listens on port %d and is written in Go; Alice and "+
					"Bob know why it was moved to machine %d on day %d.", i, i%9999, 7*i, i%31))
				m.Tags = []string{"service", "port"}
				if err := tx.Put(m); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(b, a.share.Start(b.Context(), "team", address))
	n, joined := startOnDisk(b), 0
	b.ReportAllocs()
	for b.Loop() {
		joined++
		must(b, n.share.Join(b.Context(), "team", fmt.Sprint("copy", joined), address, false))
	}
	b.ReportMetric(float64(n.store.JournalStats().Syncs)/float64(joined), "syncs/op")
}
