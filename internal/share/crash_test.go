package share_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
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
			if m, err := n.store.Space("team").Get("m1"); err != nil || m.AccessCount() != 3 {
				t.Fatalf("crash at %d: %d accesses, %v; want 3", k, m.AccessCount(), err)
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

// TestCrashWhileJoining crashes a machine at each operation of its file system while it joins a space of several
// operations and syncs. What was joined is there; otherwise joining again completes it, and repeats nothing.
func TestCrashWhileJoining(t *testing.T) {
	t.Parallel()
	address := postgres.Start(t).Database(t, "joining")
	const memories = 1001
	a := start(t, crashfs.New())
	a.update(func(tx *store.Tx) error {
		for i := range memories {
			if err := tx.Put(memtest.Fact(fmt.Sprint("m", i), fmt.Sprint(i, strings.Repeat(" and what follows", 280)))); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, a.share.Start(t.Context(), "team", address))
	crashed, step := 0, 1
	if memtest.RaceDetector {
		step = 5
	}
	for k := 0; ; k += step {
		sim := crashfs.New()
		b := start(t, sim)
		before := b.store.JournalStats().Syncs
		sim.CrashAt(sim.Ops() + k)
		err := b.share.Join(t.Context(), "team", "team", address, false)
		hit, syncs := sim.Crashed(), b.store.JournalStats().Syncs-before
		b.stop()
		b = start(t, sim.Crash(crashfs.CrashMode(k/step%2), nil))
		if got := b.store.Space("team").Count(); err == nil && (got != memories || !b.share.Shared("team")) {
			t.Fatalf("crash at %d: joined, and %d of %d memories are there", k, got, memories)
		}
		if !b.share.Shared("team") {
			must(t, b.share.Join(t.Context(), "team", "team", address, false))
		}
		settled(t, a, b)
		for _, id := range []string{"m0", fmt.Sprint("m", memories-1)} {
			history, err := b.store.History(t.Context(), "team", id, 10)
			if err != nil || len(history) != 1 || !strings.HasPrefix(history[0].Reason, "joined shared space team at position ") {
				t.Fatalf("crash at %d: history of %s: %d operations, %v; want that of the joining alone", k, id, len(history), err)
			}
		}
		must(t, b.share.Leave(t.Context(), "team", false))
		b.stop()
		if !hit {
			if syncs < 2 || syncs > 4 {
				t.Errorf("%d syncs of the journal, want 2 to 4", syncs)
			}
			break
		}
		crashed++
	}
	if crashed < 10/step {
		t.Errorf("only %d operations were crashed", crashed)
	}
	t.Logf("%d operations of the file system, each crashed once", crashed)
}

// TestOldState restarts a machine whose file of the state is as old as its joining, while both wrote to the same
// memories, forgot, removed and counted: the journal and the log say the rest. Nothing is written, sent or reported
// again.
func TestOldState(t *testing.T) {
	t.Parallel()
	address := postgres.Start(t).Database(t, "old")
	a, b := pair(t, address)
	joined := b.fs.(*crashfs.FS).Crash(crashfs.Kept, nil)
	for i, step := range []func(){
		func() { b.change("m1", func(m *memory.Memory) { m.Tags = []string{"b"} }) },
		func() { a.change("m1", func(m *memory.Memory) { m.Content = "The build runs on port 9090" }) },
		func() { b.change("m1", func(m *memory.Memory) { m.Salience = 0.9 }) },
		func() { a.add("a1", "written by a"); b.add("b1", "written by b") },
		func() { b.forgets("v1"); b.add("b2", "saved beside a forgotten value") },
		func() { a.change("b1", func(m *memory.Memory) { m.Status = memory.Retired }) },
		func() { a.forgets("v2"); a.change("a1", func(m *memory.Memory) { m.Title = "by a" }) },
		func() { b.add("b3", "v2"); b.change("a1", func(m *memory.Memory) { m.Title = "by b" }) },
		func() { a.change("m1", func(m *memory.Memory) { m.Content = "The build runs on port 7070" }) },
		func() {
			b.store.CountAccess("team", []string{"m1", "m1"}, time.Now())
			must(t, b.store.FlushAccesses(t.Context()))
		},
		func() { // both change one thing
			b.stop()
			b.change("m1", func(m *memory.Memory) { m.Content = "The build runs on port 1" })
			a.change("m1", func(m *memory.Memory) { m.Content = "The build runs on port 2" })
			settled(t, a)
			b.connect()
		},
		func() { a.add("a2", "the last row"); b.add("b4", "the last row, or the one before") },
	} {
		step()
		settled(t, a, b)
		b.stop()
		want, rows, records := b.state(), b.share.Status()[0].Position, b.store.LSN()
		must(t, b.store.Close(t.Context()))
		now := b.fs.(*crashfs.FS).Crash(crashfs.Kept, nil)
		copyFile(t, joined, now, "share/team.json")
		b = start(t, now)
		settled(t, a, b)
		if got := b.state(); got != want {
			t.Errorf("behind step %d the machine holds\n%s\nand held\n%s", i, got, want)
		}
		if got := b.share.Status()[0].Position; got != rows {
			t.Errorf("behind step %d the log has %d rows, and had %d", i, got, rows)
		}
		if got := b.store.LSN(); got != records {
			t.Errorf("behind step %d the journal ends at %d, and ended at %d", i, got, records)
		}
	}
	// What was forgotten before a text was saved again on purpose does not forget it.
	a.forgets("v3")
	settled(t, a, b)
	b.stop()
	b.add("b5", "v3")
	must(t, b.store.Close(t.Context()))
	now := b.fs.(*crashfs.FS).Crash(crashfs.Kept, nil)
	copyFile(t, joined, now, "share/team.json")
	b = start(t, now)
	settled(t, a, b)
	if m, err := a.store.Space("team").Get("b5"); err != nil || !m.IsActive() {
		t.Errorf("what was saved on purpose is at the other machine: %+v, %v", m, err)
	}
}

// forgets has a node forget a text.
func (n *node) forgets(text string) {
	n.t.Helper()
	n.update(func(tx *store.Tx) error { tx.Forget(text); return nil })
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
