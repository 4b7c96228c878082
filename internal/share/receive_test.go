package share_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestRowsShareSyncs: rows that are read at once are operations of their own, with one sync for those that do not
// depend on each other.
func TestRowsShareSyncs(t *testing.T) {
	a, b := pair(t, postgres.Start(t).Database(t, "syncs"))
	b.stop()
	for i := range 20 {
		a.add(fmt.Sprint("a", i), fmt.Sprint("fact ", i))
	}
	a.change("a1", func(m *memory.Memory) { m.Content = "fact 1, again" })
	a.forgets("something else")
	for i := range 20 {
		a.change(fmt.Sprint("a", i), func(m *memory.Memory) { m.Tags = []string{"tagged"} })
	}
	settled(t, a)
	before, last := b.store.JournalStats().Syncs, b.store.LSN()
	b.connect()
	settled(t, a, b)
	// Those before the second change of a1, that change, the forgetting, those behind it.
	if n := b.store.JournalStats().Syncs - before; n > 4 {
		t.Errorf("42 rows with %d syncs of the journal, want 4", n)
	}
	if n := b.store.LSN() - last; n != 42 {
		t.Errorf("%d operations for 42 rows", n)
	}
	history, err := b.store.History(t.Context(), "team", "a1", 10)
	if err != nil || len(history) != 3 {
		t.Errorf("%d versions of what three rows changed, %v", len(history), err)
	}
}

// TestRowsBeforeABadOne: what comes before a row that cannot be applied is applied, and is not applied again.
func TestRowsBeforeABadOne(t *testing.T) {
	address := postgres.Start(t).Database(t, "bad")
	a, b := pair(t, address)
	b.stop()
	a.add("a1", "first")
	a.add("a2", "second")
	settled(t, a)
	a.stop()
	log, err := pglog.Connect(t.Context(), address)
	must(t, err)
	space, err := log.Find(t.Context(), "team")
	must(t, err)
	_, err = log.Append(t.Context(), space.ID, space.Head, []pglog.Row{
		{Origin: "another", Epoch: "one", Op: 1, At: time.Now().UTC().Truncate(time.Microsecond), Record: `{"v":99,"changes":[]}`}})
	must(t, err)
	must(t, log.Close())
	for range 2 {
		before := b.share.Status()[0].Position
		b.connect()
		eventually(t, func() string {
			s := b.share.Status()[0]
			if !s.Stopped || !strings.Contains(s.Error, "row 3 of the log") || s.Position != 2 {
				return fmt.Sprintf("%+v at first %d", s, before)
			}
			return ""
		})
		if b.content("a1") != "first" || b.content("a2") != "second" {
			t.Errorf("the rows before the one that was refused: %q, %q", b.content("a1"), b.content("a2"))
		}
		last := b.store.LSN()
		b.stop()
		must(t, b.store.Close(t.Context()))
		b = start(t, b.fs.(*crashfs.FS).Crash(crashfs.Kept, nil))
		if now := b.store.LSN(); now != last {
			t.Errorf("the journal ends at %d, and ended at %d", now, last)
		}
		b.stop()
	}
}

// TestCrashWhileRowsShareASync crashes a machine at each operation of its file system while it receives several rows at
// once, beside something that waits to be sent. Afterwards both hold the same, and each row is applied once.
func TestCrashWhileRowsShareASync(t *testing.T) {
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
		b.stop()
		b.change("m1", func(m *memory.Memory) { m.Tags = []string{"waits"} })
		for i := range 3 {
			a.add(fmt.Sprint("a", i), fmt.Sprint("fact ", i))
			a.change("m1", func(m *memory.Memory) { m.Salience = float64(i+1) / 10 })
		}
		a.store.CountAccess("team", []string{"m1", "m1"}, time.Now())
		must(t, a.store.FlushAccesses(t.Context()))
		settled(t, a)
		sim.CrashAt(sim.Ops() + k)
		b.connect()
		for range 100 {
			if s := b.share.Status()[0]; sim.Crashed() || s.Waiting == 0 && s.Position == a.share.Status()[0].Position {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		b.stop() // records the position
		hit := sim.Crashed()
		b = start(t, sim.Crash(crashfs.CrashMode(k%2), nil))
		settled(t, a, b)
		for _, n := range []*node{a, b} {
			if m, err := n.store.Space("team").Get("m1"); err != nil || m.AccessCount() != 2 || m.Salience != .3 || len(m.Tags) != 1 {
				t.Errorf("crash at %d: %+v, %v", k, m, err)
			}
			n.stop()
		}
		if rows := a.share.Status()[0].Position; rows != 8+1 { // and the one that shareAs sent
			t.Errorf("crash at %d: %d rows in the log", k, rows)
		}
		if !hit {
			break
		}
		crashed++
	}
	if crashed < 6/step {
		t.Errorf("only %d operations were crashed", crashed)
	}
	t.Logf("%d operations of the file system, each crashed once", crashed)
}
