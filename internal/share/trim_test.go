package share_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// calendar is a clock that tests move by days.
type calendar struct{ days atomic.Int64 }

func (c *calendar) now() time.Time { return time.Now().AddDate(0, 0, int(c.days.Load())) }

// other writes to another space.
func (n *node) other(id, content string) {
	n.t.Helper()
	meta := store.Meta{Space: "other", Actor: journal.ActorClient}
	_, err := n.store.Update(n.t.Context(), meta, func(tx *store.Tx) error { return tx.Put(memtest.Fact(id, content)) })
	must(n.t, err)
}

// age writes until what was written before is in old segments that snapshots include, lets days pass, in steps that the
// store takes for a clock that is right, and has old history trimmed.
func (n *node) age(c *calendar, days int) {
	n.t.Helper()
	for round := range 2 {
		for i := range 60 {
			n.other(fmt.Sprintf("o%d-%d-%d", c.days.Load(), round, i), strings.Repeat("a memory of another space ", 20))
		}
		_, err := n.store.Checkpoint(n.t.Context())
		must(n.t, err)
	}
	for days > 0 {
		step := min(5, days)
		days -= step
		n.other(fmt.Sprint("day", c.days.Add(int64(step))), "another day")
	}
	must(n.t, n.store.Trim(n.t.Context()))
}

// TestTrimmedHistory: what waits to be sent is kept longer than history is, for a bounded time, and is never dropped
// without a word.
func TestTrimmedHistory(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	joined := func(t *testing.T, database string) (a, b *node, c *calendar, address string) {
		address, c = pg.Database(t, database), &calendar{}
		a = start(t, crashfs.New())
		a.add("m1", "The build runs on port 8080")
		must(t, a.share.Start(t.Context(), "team", address))
		b = startAt(t, crashfs.New(), c.now)
		must(t, b.share.Join(t.Context(), "team", "team", address, false))
		settled(t, a, b)
		return a, b, c, address
	}
	restart := func(n *node, c *calendar) *node {
		n.stop()
		must(n.t, n.store.Close(context.Background()))
		return startAt(n.t, n.fs, c.now)
	}
	t.Run("weeks offline", func(t *testing.T) {
		a, b, c, _ := joined(t, "weeks")
		b.stop()
		b.add("w1", "written while the database was away")
		b.age(c, 30)
		b = restart(b, c)
		settled(t, a, b)
		if a.content("w1") == "" {
			t.Error("what was written while the database was away never arrived")
		}
		// Now that it is sent, it need not be kept, once the exchange has recorded that.
		eventually(t, func() string {
			b.age(c, 30)
			if b.store.First() == 1 {
				return "history is kept although everything is sent"
			}
			return ""
		})
	})
	t.Run("more than a year offline", func(t *testing.T) {
		a, b, c, address := joined(t, "years")
		b.stop()
		b.add("w1", "written while the database was away")
		b.age(c, store.MaxNeededDays+30)
		b = restart(b, c)
		if s := b.share.Status()[0]; !s.Stopped || !strings.Contains(s.Error, "share leave team --force") {
			t.Fatalf("%+v; want it stopped, with what to do", s)
		}
		b.add("w2", "local work goes on")
		must(t, b.share.Leave(t.Context(), "team", true))
		must(t, b.share.Join(t.Context(), "team", "team", address, false))
		eventually(t, func() string {
			return map[bool]string{true: "", false: "not there"}[a.content("w1") != "" && a.content("w2") != ""]
		})
		settled(t, a, b)
	})
	t.Run("nothing to send", func(t *testing.T) {
		a, b, c, _ := joined(t, "idle")
		for range 3 {
			b.age(c, 30)
			eventually(t, func() string {
				if b.share.Needed() <= b.store.LSN() {
					return fmt.Sprintf("operation %d of %d is needed", b.share.Needed(), b.store.LSN())
				}
				return ""
			})
		}
		must(t, b.store.Trim(t.Context()))
		if b.store.First() == 1 {
			t.Error("history is kept although nothing waits")
		}
		b = restart(b, c)
		settled(t, a, b)
		b.add("w1", "still shared")
		eventually(t, func() string { return map[bool]string{true: "", false: "not there"}[a.content("w1") != ""] })
	})
}
