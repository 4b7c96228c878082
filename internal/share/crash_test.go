package share_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestCrashOfTheState crashes a machine at each operation of its file system while it sends and receives. After a
// restart both machines hold the same, everything acknowledged is in the log, and nothing is there twice.
func TestCrashOfTheState(t *testing.T) {
	address := postgres.Start(t).Database(t, "crash")
	crashed, step := 0, 1
	if memtest.RaceDetector {
		step = 3
	}
	for k := 0; ; k += step {
		remote := fmt.Sprint("t", k)
		a, sim := start(t, crashfs.New()), crashfs.New()
		a.update(func(tx *store.Tx) error { return tx.Put(memtest.Fact("m1", "The build runs on port 8080")) })
		must(t, shareAs(a, remote, address))
		b := start(t, sim)
		must(t, b.share.Join(t.Context(), remote, "team", address, false))
		settled(t, a, b)
		sim.CrashAt(sim.Ops() + k)
		acknowledged := exchangeUntilCrash(a, b, sim)
		hit := sim.Crashed()
		if hit {
			crashed++
		}
		b.stop()
		sim = sim.Crash(crashfs.CrashMode(k%2), nil)
		b = start(t, sim)
		eventually(t, func() string {
			for _, id := range acknowledged {
				if a.content(id) == "" {
					return id + " was acknowledged and is not at the other machine"
				}
			}
			return ""
		})
		settled(t, a, b)
		for _, n := range []*node{a, b} {
			if m, err := n.store.Space("team").Get("m1"); err != nil || m.AccessCount != 3 {
				t.Fatalf("crash at %d: %d accesses, %v; want 3", k, m.AccessCount, err)
			}
			n.stop()
		}
		if !hit {
			break
		}
	}
	if crashed < 10/step {
		t.Errorf("only %d operations were crashed", crashed)
	}
	t.Logf("%d operations of the file system, each crashed once", crashed)
}

// shareAs shares space team of a node under another name, by joining a space that another store created.
func shareAs(n *node, remote, address string) error {
	first, err := store.Open(store.Config{FS: crashfs.New(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { _ = first.Close(context.Background()) }()
	s := share.New()
	if err := s.Open(context.Background(), share.Config{Store: first, FS: crashfs.New(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Location: time.UTC, Host: "first"}); err != nil {
		return err
	}
	if err := s.Start(context.Background(), remote, address); err != nil {
		return err
	}
	return n.share.Join(context.Background(), remote, "team", address, false)
}

// exchangeUntilCrash has both write, and returns the ids of what b acknowledged.
func exchangeUntilCrash(a, b *node, sim *crashfs.FS) (acknowledged []string) {
	a.store.CountAccess("team", []string{"m1", "m1", "m1"}, time.Now())
	must(a.t, a.store.FlushAccesses(context.Background()))
	for i := range 3 {
		id := fmt.Sprint("b", i)
		_, err := b.store.Update(context.Background(), store.Meta{Space: "team", Actor: journal.ActorClient}, func(tx *store.Tx) error {
			if m := tx.Memory("m1"); m != nil && i == 1 {
				c := m.Clone()
				c.Tags = []string{"b"}
				if err := tx.Put(c); err != nil {
					return err
				}
			}
			return tx.Put(memtest.Fact(id, "memory of b, number "+id))
		})
		if err == nil {
			acknowledged = append(acknowledged, id)
		}
		a.change("m1", func(m *memory.Memory) { m.Salience = float64(i+1) / 10 })
	}
	for range 30 {
		if s := b.share.Status(); sim.Crashed() || s[0].Waiting == 0 && s[0].Position == a.share.Status()[0].Position {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return acknowledged
}
