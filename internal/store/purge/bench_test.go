package purge_test

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/purge"
)

// BenchmarkPurge purges one memory out of many on a real disk, and says how long writers had to wait.
func BenchmarkPurge(b *testing.B) {
	for _, n := range []int{1_000, 30_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			root, err := os.OpenRoot(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer root.Close()
			fsys, log, now := durable.Dir(root), slog.New(slog.DiscardHandler), func() time.Time { return time.Now() }
			mems := jsonstore.NewPublisher(jsonstore.Config{FS: fsys, Now: now, Logger: log})
			logs := dailylog.NewPublisher(dailylog.Config{FS: fsys, Now: now, Logger: log})
			st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: log,
				Projections: []store.Projection{mems, logs}})
			if err != nil {
				b.Fatal(err)
			}
			mems.Attach(jsonstore.FromStore(st))
			logs.Attach(dailylog.FromStore(st))
			for i := 0; i < n; i += 1000 {
				_, err := st.Update(b.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
					for k := i; k < i+1000; k++ {
						if err := tx.Put(memtest.Fact(fmt.Sprint("m", k),
							fmt.Sprintf("memory %d says: the quick brown fox jumps over the lazy dog, and %d more "+
								"words of no concern follow it here", k, k*7))); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			p := purge.New(purge.Config{Store: st, FS: fsys, Memories: mems, Logs: logs, SaveIndex: func() error {
				return nil
			}, Logger: log})
			var waited time.Duration
			next := 0
			for b.Loop() {
				res, err := p.Run(b.Context(),
					purge.Request{PurgeRequest: store.PurgeRequest{IDs: []string{fmt.Sprint("m", next)}}})
				if err != nil {
					b.Fatal(err)
				}
				waited, next = max(waited, res.Waited), next+1
			}
			b.ReportMetric(float64(waited.Microseconds())/1000, "ms-writers-waited")
		})
	}
}
