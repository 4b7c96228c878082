package share_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// member starts a node of a fleet. Spaces are dropped by sweeps of the test, so idle is none.
func member(t testing.TB, fsys durable.FS, address string, change func(*share.Fleet)) *node {
	t.Helper()
	n := &node{t: t, fs: fsys, share: share.New()}
	must(t, openMember(n, address, change))
	n.connect()
	t.Cleanup(func() { n.stop(); _ = n.store.Close(context.Background()) })
	return n
}

// openMember opens a node of a fleet, whose file system may crash meanwhile.
func openMember(n *node, address string, change func(*share.Fleet)) (err error) {
	n.store, err = store.Open(store.Config{FS: n.fs, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Projections: []store.Projection{n.share}, SegmentSize: 16 << 10, HistoryDays: 1, Needed: n.share.Needed,
		ReadOnly: n.share.ReadOnly, Opened: n.share.Opened})
	if err != nil {
		return err
	}
	cfg := share.Fleet{URL: address, Ack: share.AckShared, Idle: time.Hour, Bytes: 1 << 30}
	if change != nil {
		change(&cfg)
	}
	return n.share.Open(n.t.Context(), share.Config{Store: n.store, FS: n.fs, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Location: time.UTC, Host: "test", Poll: 100 * time.Millisecond, Erase: n.erase,
		Mirror: words, Fleet: &cfg})
}

// put adds a memory to a space as a request does, and waits for the log.
func (n *node) put(space, id, content string) error {
	ctx, cancel := context.WithTimeout(n.t.Context(), 10*time.Second)
	defer cancel()
	release, err := n.share.Use(ctx, []string{space}, true)
	if err != nil {
		return err
	}
	defer release()
	noted, writes := store.NoteWrites(ctx, n.share.Allow)
	_, err = n.store.Update(noted, store.Meta{Space: space, Actor: journal.ActorClient}, func(tx *store.Tx) error {
		return tx.Put(memtest.Fact(id, content))
	})
	if err != nil {
		return err
	}
	return n.share.Await(ctx, writes.List(), "")
}

// read returns the text of a memory as a request does, "" when there is none.
func (n *node) read(space, id string) (string, error) {
	release, err := n.share.Use(n.t.Context(), []string{space}, false)
	if err != nil {
		return "", err
	}
	defer release()
	m, err := n.store.Space(space).Get(id)
	if errors.Is(err, memory.ErrNotFound) {
		return "", nil
	}
	return m.Content, err
}

// holds fails unless a node reads a text.
func (n *node) holds(space, id, want string) {
	n.t.Helper()
	eventually(n.t, func() string {
		if got, err := n.read(space, id); got != want || err != nil {
			return fmt.Sprintf("%s of %s reads as %q, %v; want %q", id, space, got, err, want)
		}
		return ""
	})
}

// TestFleetOpens: any node serves any space; what exists nowhere reads as empty and is created by a write.
func TestFleetOpens(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	address := pg.Database(t, "fleet")
	a, b := member(t, crashfs.New(), address, nil), member(t, crashfs.New(), address, nil)
	a.holds("user-1", "m1", "")
	if n := query(t, address, "SELECT count(*)::text FROM memsidecar.space"); n != "0" {
		t.Errorf("a read created %s spaces", n)
	}
	_, err := a.store.Update(t.Context(), store.Meta{Space: "user-1", Actor: journal.ActorClient},
		func(tx *store.Tx) error { return tx.Put(memtest.Fact("m0", "nobody would send this")) })
	if missing := new(memory.NotOpenError); !errors.As(err, &missing) || missing.Space != "user-1" {
		t.Errorf("a write to a space that is not open: %v", err)
	}
	must(t, a.put("user-1", "m1", "Tea, not coffee"))
	b.holds("user-1", "m1", "Tea, not coffee")
	must(t, b.put("user-1", "m2", "No sugar"))
	a.holds("user-1", "m2", "No sugar")
	if st := a.share.FleetStatus(); st.Open != 1 || st.Opened != 1 || st.Bytes < 1000 || st.Error != "" {
		t.Errorf("status: %+v", st)
	}

	if err := a.share.Leave(t.Context(), "user-1", true); err == nil {
		t.Error("a space of the fleet was left by hand")
	}

	// Both nodes open and create many at once; each is one space.
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			n := []*node{a, b}[i%2]
			if err := n.put(fmt.Sprint("many-", i/8), fmt.Sprint("m", i), "One of eight"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i := range 40 {
		[]*node{b, a}[i%2].holds(fmt.Sprint("many-", i/8), fmt.Sprint("m", i), "One of eight")
	}
	if n := query(t, address, "SELECT count(*)::text FROM memsidecar.space"); n != "6" {
		t.Errorf("the database has %s spaces, want 6", n)
	}
}

// TestFleetDrops: a space that nobody uses leaves the node, by idle time or for the budget, and comes back when it is
// asked for. One with something that is only here stays.
func TestFleetDrops(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	for name, change := range map[string]func(*share.Fleet){
		"idle":   func(f *share.Fleet) { f.Idle = 300 * time.Millisecond },
		"budget": func(f *share.Fleet) { f.Bytes = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			address := pg.Database(t, "fleet_drops_"+name)
			fsys := crashfs.New()
			a := member(t, fsys, address, change)
			for i := range 5 {
				must(t, a.put(fmt.Sprint("user-", i), "m1", fmt.Sprint("Likes number ", i)))
			}
			_, err := a.store.Update(t.Context(), store.Meta{Space: "user-4", Actor: journal.ActorSession},
				func(tx *store.Tx) error {
					tx.PutSession(&memory.Session{ID: "s1", State: memory.SessionOpen, StartedAt: time.Now(), LastAt: time.Now()})
					return nil
				})
			if err != nil && !errors.Is(err, memory.ErrNotOpen) { // it was dropped already
				t.Fatal(err)
			}
			open := 0
			if err == nil {
				open = 1
			}
			eventually(t, func() string {
				if st := a.share.FleetStatus(); st.Open != open {
					return fmt.Sprintf("%+v; want %d open", st, open)
				}
				return ""
			})
			for i := range 4 {
				name := fmt.Sprint("user-", i)
				if n := a.store.Space(name).Count(); n != 0 {
					t.Errorf("%s is dropped and has %d memories", name, n)
				}
				if _, err := fsys.Lstat("share/" + name + ".json"); err == nil {
					t.Errorf("%s is dropped and has a file", name)
				}
			}
			for i := range 5 {
				a.holds(fmt.Sprint("user-", i), "m1", fmt.Sprint("Likes number ", i))
			}
		})
	}
}

// TestFleetGrowth: what is written to an open space counts for the budget.
func TestFleetGrowth(t *testing.T) {
	t.Parallel()
	address := postgres.Start(t).Database(t, "fleet_growth")
	const limit = 200 << 10
	a := member(t, crashfs.New(), address, func(f *share.Fleet) { f.Bytes = limit })
	must(t, a.put("idle", "m1", "Tea"))
	release, err := a.share.Use(t.Context(), []string{"busy"}, true)
	must(t, err)
	defer release()
	for i := range 40 {
		must(t, a.put("busy", fmt.Sprint("m", i), "Coffee"))
	}
	eventually(t, func() string {
		if st := a.share.FleetStatus(); st.Dropped != 1 || a.store.Space("idle").Count() != 0 {
			return fmt.Sprintf("the space that nobody uses is not dropped: %+v", st)
		}
		return ""
	})
	if st := a.share.FleetStatus(); st.Bytes <= limit || st.Open != 1 {
		t.Errorf("one space with 40 memories: %+v", st)
	}
	a.holds("idle", "m1", "Tea")
}

// TestFleetWithoutReflection: a session that has ended keeps its space only where it will be reflected. One that goes on
// keeps it everywhere.
func TestFleetWithoutReflection(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	for _, off := range []bool{false, true} {
		t.Run(fmt.Sprint("off ", off), func(t *testing.T) {
			a := member(t, crashfs.New(), pg.Database(t, fmt.Sprint("fleet_reflection_", off)), func(f *share.Fleet) {
				f.Idle, f.NoReflection = 200*time.Millisecond, off
			})
			for _, state := range []memory.SessionState{memory.SessionOpen, memory.SessionEnded, memory.SessionReflected} {
				release, err := a.share.Use(t.Context(), []string{string(state)}, true)
				must(t, err)
				_, err = a.store.Update(t.Context(), store.Meta{Space: string(state), Actor: journal.ActorSession},
					func(tx *store.Tx) error {
						tx.PutSession(&memory.Session{ID: "s1", State: state, StartedAt: time.Now(), LastAt: time.Now()})
						return nil
					})
				must(t, err)
				release()
			}
			want := []string{string(memory.SessionEnded), string(memory.SessionOpen)}
			if off {
				want = want[1:]
			}
			eventually(t, func() string {
				if got := a.share.Names(); !slices.Equal(got, want) {
					return fmt.Sprintf("open: %v; want %v", got, want)
				}
				return ""
			})
		})
	}
}

// TestFleetDatabaseAway: without the database a space that is not open cannot be opened; nothing is half there, and it
// works again by itself. Open spaces are read.
func TestFleetDatabaseAway(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	address := pg.Database(t, "fleet_away")
	p := newProxy(t, pg)
	a, b := member(t, crashfs.New(), p.address("fleet_away"), nil), member(t, crashfs.New(), address, nil)
	must(t, b.put("user-1", "m1", "Tea"))
	must(t, b.put("user-2", "m1", "Coffee"))
	a.holds("user-1", "m1", "Tea")
	p.set(func(direction) verdict { return cut })
	if _, err := a.read("user-2", "m1"); !errors.Is(err, memory.ErrNotOpen) {
		t.Errorf("a space was opened without the database: %v", err)
	}
	if err := a.put("user-3", "m1", "Water"); !errors.Is(err, memory.ErrNotOpen) {
		t.Errorf("a space was created without the database: %v", err)
	}
	if got, err := a.read("user-1", "m1"); got != "Tea" || err != nil {
		t.Errorf("an open space reads as %q, %v", got, err)
	}
	if st := a.share.FleetStatus(); st.Error == "" || st.Open != 1 || len(a.store.Spaces()) != 2 {
		t.Errorf("status %+v, spaces %v", st, a.store.Spaces())
	}
	p.set(nil)
	a.holds("user-2", "m1", "Coffee")
	eventually(t, func() string {
		if err := a.put("user-3", "m1", "Water"); err != nil {
			return err.Error()
		}
		return ""
	})
	b.holds("user-3", "m1", "Water")
}

// TestFleetReconnects: one statement says which spaces have news, so a node whose connection broke exchanges only those.
func TestFleetReconnects(t *testing.T) {
	t.Parallel()
	const spaces = 80
	pg := postgres.Start(t)
	address := pg.Database(t, "fleet_reconnects")
	p := newProxy(t, pg)
	a, b := member(t, crashfs.New(), p.address("fleet_reconnects"), nil), member(t, crashfs.New(), address, nil)
	for i := range spaces {
		must(t, a.put(fmt.Sprint("user-", i), "m1", "Tea"))
	}
	eventually(t, func() string { // and that is reported, which the next exchange would do otherwise
		return strings.TrimPrefix(query(t, address, "SELECT count(*)::text FROM memsidecar.member WHERE position < 1"), "0")
	})
	var sent atomic.Int64 // pieces, of which each exchange has at least one
	p.set(func(way direction) verdict {
		if way == toServer {
			sent.Add(1)
		}
		return pass
	})
	must(t, b.put("user-7", "m2", "No sugar")) // an announcement may be lost with the connection
	sent.Store(0)
	broken := time.Now()
	p.move(pg)
	a.holds("user-7", "m2", "No sugar")
	within(t, 20*time.Second, func() string {
		for _, st := range a.share.Status() {
			if st.Contact.Before(broken) || st.Error != "" {
				return fmt.Sprintf("%+v", st)
			}
		}
		return ""
	})
	if n := sent.Load(); n >= spaces {
		t.Errorf("%d pieces were sent for one space of %d with news", n, spaces)
	} else {
		t.Logf("%d pieces were sent", n)
	}
}

// TestFleetPurge: a purge reaches the journal of a node that has dropped the space, and no other space.
func TestFleetPurge(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	address := pg.Database(t, "fleet_purge")
	a := member(t, crashfs.New(), address, func(f *share.Fleet) { f.Idle = 200 * time.Millisecond })
	b := member(t, crashfs.New(), address, nil)
	must(t, a.put("user-1", "m1", secret))
	must(t, a.put("user-2", "m1", "harmless"))
	b.holds("user-1", "m1", secret)
	eventually(t, func() string {
		if st := a.share.FleetStatus(); st.Open != 0 {
			return fmt.Sprintf("%+v", st)
		}
		return ""
	})
	if len(a.holders(secret)) == 0 {
		t.Fatal("nothing is left to erase in the journal of the node that dropped the space")
	}
	release, err := b.share.Use(t.Context(), []string{"user-1"}, false)
	must(t, err)
	ids, err := b.purgeIn("user-1", []string{"m1"}, nil)
	must(t, err)
	release()
	if len(ids) != 1 {
		t.Errorf("%d logs were told", len(ids))
	}
	within(t, 20*time.Second, func() string {
		if left := append(a.holders(secret), b.holders(secret)...); len(left) > 0 {
			return fmt.Sprint("still in ", left)
		}
		if n := query(t, address, "SELECT count(*)::text FROM memsidecar.member m JOIN memsidecar.purge p USING (space) "+
			"WHERE m.position < p.seq"); n != "0" {
			return n + " nodes have not confirmed"
		}
		return ""
	})
	a.holds("user-2", "m1", "harmless")
}

// TestFleetOwnDirectory: a directory with other memories is refused, before anything is sent.
func TestFleetOwnDirectory(t *testing.T) {
	t.Parallel()
	address := postgres.Start(t).Database(t, "fleet_own")
	sim := crashfs.New()
	a := start(t, sim)
	a.add("m1", "Nobody's business")
	a.stop()
	must(t, a.store.Close(t.Context()))
	n := &node{t: t, fs: sim, share: share.New()}
	if err := openMember(n, address, nil); !errors.Is(err, memory.ErrExists) {
		t.Errorf("a directory with a private space: %v", err)
	}
	must(t, n.store.Close(context.Background()))
}

// TestCrashOfAFleet crashes a node at each operation of its file system while spaces are opened, written to, dropped and
// opened again. After a restart every acknowledged memory is there, and nothing of a space that was open in part.
func TestCrashOfAFleet(t *testing.T) {
	address := postgres.Start(t).Database(t, "fleet_crash")
	other := member(t, crashfs.New(), address, nil)
	crashed, step := 0, 3
	if os.Getenv(longTests) != "" {
		step = 1
	}
	for k := 0; ; k += step {
		one, two := fmt.Sprint("one-", k), fmt.Sprint("two-", k)
		must(t, other.put(one, "m1", "Written at another node"))
		sim := crashfs.New()
		dropping := func(f *share.Fleet) { f.Idle = time.Millisecond }
		n := member(t, sim, address, dropping)
		sim.CrashAt(sim.Ops() + k)
		acknowledged := n.useUntilCrash(sim, one, two)
		hit := sim.Crashed()
		n.stop()
		sim = sim.Crash(crashfs.CrashMode(k%2), nil)
		n = member(t, sim, address, nil)
		for _, w := range acknowledged {
			n.holds(w[0], w[1], w[2])
		}
		n.holds(one, "m1", "Written at another node")
		must(t, n.put(one, "m9", "Still here"))
		other.holds(one, "m9", "Still here")
		n.stop()
		if !hit {
			break
		}
		crashed++
	}
	t.Logf("%d crashes", crashed)
	if crashed < 20/step {
		t.Errorf("only %d crashes", crashed)
	}
}

// useUntilCrash opens, writes and waits for drops until the file system crashes, and returns what was acknowledged.
func (n *node) useUntilCrash(sim *crashfs.FS, one, two string) (acknowledged [][3]string) {
	for i := range 2 {
		for _, space := range []string{one, two} {
			id, text := fmt.Sprint("w", i), fmt.Sprint("Note ", i, " of ", space)
			if n.put(space, id, text) == nil {
				acknowledged = append(acknowledged, [3]string{space, id, text})
			}
		}
		for deadline := time.Now().Add(5 * time.Second); n.share.FleetStatus().Open > 0 && !sim.Crashed() &&
			time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		if sim.Crashed() {
			return acknowledged
		}
	}
	return acknowledged
}
