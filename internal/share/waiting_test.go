package share_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestManyWait: what waits is not held in memory while the database is away, and arrives whole, in order and once, also
// after a restart.
func TestManyWait(t *testing.T) {
	const operations, memories, bound = 60, 10, 8 << 20 // held in memory they would be twice the bound
	pg := postgres.Start(t)
	address := pg.Database(t, "many")
	a := start(t, crashfs.New())
	for k := range memories {
		a.add(fmt.Sprint("m", k), fmt.Sprint("memory ", k))
	}
	must(t, a.share.Start(t.Context(), "team", address))
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	b := start(t, durable.Dir(root))
	must(t, b.share.Join(t.Context(), "team", "team", address))
	settled(t, a, b)
	a.stop()
	pg.Kill()
	write := func(from, to int) {
		for i := from; i < to; i++ {
			b.update(func(tx *store.Tx) error {
				for k := range memories {
					m := tx.Memory(fmt.Sprint("m", k)).Clone()
					m.Content = fmt.Sprint("version ", i, " ", strings.Repeat("词", 7000))
					if err := tx.Put(m); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	before := heap()
	write(0, operations)
	eventually(t, func() string {
		if more := heap() - before; more > bound {
			return fmt.Sprintf("%d KB more are in use while %d operations wait, want at most %d", more>>10, operations,
				bound>>10)
		}
		return ""
	})
	t.Logf("%d KB more are in use while %d operations wait", (heap()-before)>>10, operations)
	b.stop()
	must(t, b.store.Close(context.Background()))
	b = start(t, b.fs)
	write(operations, operations+20)
	pg.Restart(t)
	a.change("m1", func(m *memory.Memory) { m.Tags = []string{"meanwhile"} })
	a.connect()
	within(t, 30*time.Second, func() string {
		if n := a.share.Status()[0]; n.Position < operations+21 {
			return fmt.Sprintf("%+v, %+v", n, b.share.Status()[0])
		}
		return ""
	})
	settled(t, a, b)
	want := fmt.Sprint("version ", operations+19, " ")
	if got := a.content("m1"); !strings.HasPrefix(got, want) {
		t.Errorf("%.20q arrived last, want %q", got, want)
	}
	if got := query(t, address, "SELECT count(*)::text FROM memsidecar.log"); got != fmt.Sprint(operations+21) {
		t.Errorf("%s rows in the log, want one an operation, %d", got, operations+21)
	}
}
