package store_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// BenchmarkCollect is the processor time of a collection of garbage beside 100,000 memories, each with words of its
// own as they come out of a request, and the objects that it visits. The least of the times is what the rest of the
// machine disturbed least.
func BenchmarkCollect(b *testing.B) {
	st := benchOpen(b, benchDir(b))
	defer st.Close(context.Background())
	own := func(s string) string { return string([]byte(s)) }
	for from := 0; from < 100_000; from += 1000 {
		_, err := st.Update(b.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			for i := range 1000 {
				err := tx.Put(&memory.Memory{
					ID: fmt.Sprint("memory-", from+i), Category: own(memory.Facts), Source: own(memory.SourceUser),
					Status:  memory.Status(own(string(memory.Active))),
					Content: fmt.Sprint(from+i, " ", benchText), Tags: []string{own("bench")}, Confidence: 1,
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	least := time.Hour
	for b.Loop() {
		before := memtest.ProcessorTime(b)
		runtime.GC()
		least = min(least, memtest.ProcessorTime(b)-before)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(least.Microseconds())/1000, "cpu-ms/least")
	b.ReportMetric(float64(m.HeapObjects), "objects")
}
