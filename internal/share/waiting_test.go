package share_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
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
	must(t, b.share.Join(t.Context(), "team", "team", address, false))
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
	within(t, 2*time.Minute, func() string { // 16 MB under the race detector
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

// TestWeekOffline has two machines write for long without each other, often to the same memories: afterwards they hold
// the same, each operation is in the log once, and what lost is listed. In full it is 5,000 operations each.
func TestWeekOffline(t *testing.T) {
	t.Parallel()
	operations, shared := 200, 20
	if os.Getenv(longTests) != "" {
		operations, shared = 5000, 100
	}
	address := postgres.Start(t).Database(t, "week")
	a, b := start(t, crashfs.New()), start(t, crashfs.New())
	for i := range shared {
		a.add(fmt.Sprint("s", i), fmt.Sprintf("Service %d runs on port 8000", i))
	}
	must(t, a.share.Start(t.Context(), "team", address))
	must(t, b.share.Join(t.Context(), "team", "team", address, false))
	settled(t, a, b)
	a.stop()
	b.stop()
	written := map[string]string{} // memories by the texts that they had
	for k, n := range []*node{a, b} {
		rng := rand.New(rand.NewPCG(1, uint64(k)))
		for i := range operations {
			if rng.IntN(2) == 0 {
				n.add(fmt.Sprintf("n%d-%d", k, i), fmt.Sprintf("memory %d of %d", i, k))
				continue
			}
			n.change(fmt.Sprint("s", rng.IntN(shared)), func(m *memory.Memory) {
				m.Content = fmt.Sprintf("Service of machine %d runs on port %d, says operation %d", k, rng.IntN(60000), i)
				written[m.Content] = m.ID
			})
		}
	}
	began := time.Now()
	a.connect()
	b.connect()
	within(t, 5*time.Minute, func() string {
		x, y := a.share.Status()[0], b.share.Status()[0]
		if x.Waiting+y.Waiting > 0 || x.Position != y.Position || x.Position < int64(2*operations) {
			return fmt.Sprintf("%+v %+v", x, y)
		}
		return ""
	})
	t.Logf("%d operations on each of two machines: equal after %s", operations, time.Since(began).Round(time.Millisecond))
	settled(t, a, b)
	if got := query(t, address, "SELECT count(*)::text FROM memsidecar.log"); got != fmt.Sprint(2*operations) {
		t.Errorf("%s rows of %d operations", got, 2*operations)
	}
	if len(a.reviews())+len(b.reviews()) < shared/2 {
		t.Errorf("%d and %d texts wait for review", len(a.reviews()), len(b.reviews()))
	}
	t.Logf("%d and %d texts wait for review, of %d memories that both changed", len(a.reviews()), len(b.reviews()), shared)
	for k, n := range []*node{a, b} {
		items, err := review.New(n.store).List("team", false)
		must(t, err)
		open := map[string]int{}
		for _, item := range items {
			if open[item.Target]++; open[item.Target] == 2 {
				t.Errorf("machine %d has more than one open review of memory %s", k, item.Target)
			}
			if item.Stale() {
				t.Errorf("machine %d asks about memory %s, which has another text now", k, item.Target)
			}
		}
	}
	nothingLost(t, written, a, b)
}

// nothingLost fails for each text, of the memory with an id, that is neither a version of it at one of the nodes nor in
// one of their items for review.
func nothingLost(t *testing.T, written map[string]string, nodes ...*node) {
	t.Helper()
	kept, ids := map[string]bool{}, map[string]bool{}
	for _, id := range written {
		ids[id] = true
	}
	for _, n := range nodes {
		for _, text := range n.reviews() {
			kept[text] = true
		}
		for id := range ids {
			history, err := n.store.History(t.Context(), "team", id, math.MaxInt)
			must(t, err)
			for _, rec := range history {
				for _, c := range rec.Changes {
					if c.Memory != nil && c.Memory.ID == id && c.Memory.After != nil {
						kept[c.Memory.After.Content] = true
					}
				}
			}
		}
	}
	for text, id := range written {
		if !kept[text] {
			t.Errorf("a text of memory %s is in no version and no review: %s", id, text)
		}
	}
}
