package share_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/compressed"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// secret is what the tests purge.
const secret = "the vault opens with marzipan"

// erase is what the daemon does when another machine purged, without published files.
func (n *node) erase(ctx context.Context, req store.PurgeRequest) ([]string, error) {
	p, err := n.store.PlanPurge(ctx, req)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	} else if err != nil || p.Empty() {
		return nil, err
	}
	if err := finish(ctx, p); err != nil {
		return nil, err
	}
	_, texts, _ := p.Erased()
	return texts, nil
}

// finish runs the steps of a purge.
func finish(ctx context.Context, p *store.Purge) error {
	if err := p.Commit(ctx); err != nil {
		return err
	}
	if err := p.Rewrite(ctx); err != nil {
		return err
	}
	return p.Finish()
}

// purge erases memories and texts of the shared space, as a user of the node asks, and returns the ids of the
// announcements.
func (n *node) purge(ids, texts []string) ([]string, error) { return n.purgeIn("team", ids, texts) }

// purgeIn is purge in any space.
func (n *node) purgeIn(space string, ids, texts []string) ([]string, error) {
	ctx := context.Background()
	p, err := n.store.PlanPurge(ctx, store.PurgeRequest{Space: space, IDs: ids, Texts: texts, Reason: "test"})
	if err != nil {
		return nil, err
	}
	announced, ended, err := n.share.Announce(p)
	if err != nil {
		return nil, err
	}
	if ended == nil { // nothing is shared, or only received
		return nil, finish(ctx, p)
	}
	return announced, ended(finish(ctx, p))
}

// holders names the files of a node that hold a text.
func (n *node) holders(text string) (names []string) {
	n.t.Helper()
	var visit func(dir string)
	visit = func(dir string) {
		entries, err := n.fs.ReadDir(dir)
		must(n.t, err)
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				visit(name)
				continue
			}
			data, err := durable.ReadFile(n.fs, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			must(n.t, err)
			if compressed.Is(data) {
				data = compressed.Decompress(data)
			}
			if strings.Contains(string(data), text) {
				names = append(names, name)
			}
		}
	}
	visit(".")
	return names
}

// purgedFrom fails if a text is anywhere in a node, or in what the database holds of all spaces.
func purgedFrom(t *testing.T, address, text string, nodes ...*node) {
	t.Helper()
	for i, n := range nodes {
		if names := n.holders(text); len(names) > 0 {
			t.Errorf("node %d holds the text in %v", i, names)
		}
	}
	for _, table := range []string{"log", "snapshot_part", "purge"} {
		if found := query(t, address, "SELECT count(*)::text FROM memsidecar."+table+" t WHERE t::text LIKE '%"+text+"%'"); found != "0" {
			t.Errorf("%s rows of table %s hold the text", found, table)
		}
	}
}

// confirmed waits until every machine has erased what a node announced.
func confirmed(t *testing.T, n *node, ids []string, machines int) {
	t.Helper()
	eventually(t, func() string {
		for _, p := range n.share.AwaitPurges(t.Context(), ids) {
			if p.Position == 0 || len(p.Missing) > 0 || len(p.Confirmed) != machines {
				return fmt.Sprintf("%+v", p)
			}
		}
		return ""
	})
}

// TestPurge erases in the log, in its snapshots and at every machine.
func TestPurge(t *testing.T) {
	pg := postgres.Start(t)
	for name, test := range map[string]func(*testing.T, string){
		"everywhere": purgeEverywhere, "offline": purgeOffline, "unsent": purgeUnsent, "version": purgeVersion, "earlier": purgeEarlier,
		"left": purgeWhileAway, "texts": purgeOtherSpaces, "chain": purgeChain, "private": purgePrivate,
	} {
		t.Run(name, func(t *testing.T) { test(t, pg.Database(t, "purge_"+name)) })
	}
}

// purgeEverywhere: versions, quotes, the summary, the snapshot of the joining, and the reasons of operations.
func purgeEverywhere(t *testing.T, address string) {
	a, b := start(t, crashfs.New()), start(t, crashfs.New())
	a.add("m1", secret)
	a.update(func(tx *store.Tx) error { tx.SetSummary("They know that " + secret + "."); return nil })
	must(t, a.share.Start(t.Context(), "team", address))
	must(t, b.share.Join(t.Context(), "team", "team", address, false))
	b.add("m2", "Somebody said: "+secret+", twice")
	settled(t, a, b)
	b.change("m1", func(m *memory.Memory) { m.Content = "a second secret, of almonds" })
	settled(t, a, b)
	ids, err := a.purge([]string{"m1"}, nil)
	must(t, err)
	confirmed(t, a, ids, 2)
	settled(t, a, b)
	purgedFrom(t, address, secret, a, b)
	purgedFrom(t, address, "almonds", a, b)
	if got := b.content("m2"); got != "Somebody said: [purged], twice" || b.content("m1") != "" {
		t.Errorf("b holds %q and %q", got, b.content("m1"))
	}
	c := start(t, crashfs.New())
	must(t, c.share.Join(t.Context(), "team", "team", address, false))
	settled(t, a, b, c)
	c.add("m3", "Work goes on")
	settled(t, a, b, c)
}

// purgeOffline: a machine that is away changes the memory meanwhile, quotes it and adds it again. The purge wins.
func purgeOffline(t *testing.T, address string) {
	a, b := pair(t, address)
	a.add("m2", secret)
	settled(t, a, b)
	b.stop()
	b.change("m2", func(m *memory.Memory) { m.Content = "the cellar opens with nougat" })
	b.add("m3", "Remember that "+secret+".")
	b.add("m4", secret)
	b.add("m5", "One more: the cellar opens with nougat, and so on")
	ids, err := a.purge([]string{"m2"}, nil)
	must(t, err)
	eventually(t, func() string {
		p := a.share.AwaitPurges(t.Context(), ids)
		if len(p) != 1 || p[0].Position == 0 || !slices.Equal(p[0].Missing, []string{"test"}) {
			return fmt.Sprintf("%+v", p)
		}
		return ""
	})
	b.connect()
	confirmed(t, a, ids, 2)
	settled(t, a, b)
	purgedFrom(t, address, secret, a, b)
	purgedFrom(t, address, "nougat", a, b)
	if got := a.content("m3"); got != "Remember that [purged]." || a.content("m2") != "" {
		t.Errorf("a holds %q and %q", got, a.content("m2"))
	}
}

// purgeUnsent: what was never sent is erased too, with the database away, also from what waits.
func purgeUnsent(t *testing.T, address string) {
	a, b := pair(t, address)
	a.stop()
	a.add("m2", secret)
	a.add("m3", "A quote: "+secret+"; the end")
	ids, err := a.purge([]string{"m2"}, nil)
	must(t, err)
	for _, name := range a.holders(secret) {
		if name != "share/purges" {
			t.Errorf("%s holds the text", name)
		}
	}
	sim := a.fs.(*crashfs.FS)
	must(t, a.store.Close(t.Context()))
	a = start(t, sim)
	confirmed(t, a, ids, 2)
	settled(t, a, b)
	purgedFrom(t, address, secret, a, b)
	if got := b.content("m3"); got != "A quote: [purged]; the end" {
		t.Errorf("b holds %q", got)
	}
}

// purgeEarlier: a machine erases a memory that it joined too late to know all versions of, and who knew them has left.
// The id has characters that some encoders of JSON escape.
func purgeEarlier(t *testing.T, address string) {
	a := start(t, crashfs.New())
	a.add("m1", "first")
	must(t, a.share.Start(t.Context(), "team", address))
	a.add("<m2>", secret)
	a.add("m3", "Somebody said: "+secret)
	a.change("<m2>", func(m *memory.Memory) { m.Content = "the attic opens with fudge" })
	settled(t, a)
	b := start(t, crashfs.New())
	must(t, b.share.Join(t.Context(), "team", "team", address, false))
	settled(t, a, b)
	must(t, a.share.Leave(t.Context(), "team", false))
	ids, err := b.purge([]string{"<m2>"}, nil)
	must(t, err)
	confirmed(t, b, ids, 1)
	purgedFrom(t, address, secret, b)
	purgedFrom(t, address, "fudge", b)
}

// purgeVersion: another machine changed the memory before the purge arrived in the log.
func purgeVersion(t *testing.T, address string) {
	a, b := pair(t, address)
	a.add("m2", secret)
	settled(t, a, b)
	a.stop()
	b.change("m2", func(m *memory.Memory) { m.Content = "the attic opens with fudge" })
	b.add("m3", "The attic opens with fudge; the attic opens with fudge")
	b.add("m4", "Somebody wrote: "+secret)
	eventually(t, func() string { return fmt.Sprint(b.share.Status()[0].Waiting)[1:] })
	ids, err := a.purge([]string{"m2"}, nil)
	must(t, err)
	a.connect()
	confirmed(t, a, ids, 2)
	settled(t, a, b)
	purgedFrom(t, address, secret, a, b)
	purgedFrom(t, address, "the attic opens with fudge", a, b)
}

// purgeWhileAway: a machine that left keeps its copy, and loses it when it joins again.
func purgeWhileAway(t *testing.T, address string) {
	a, b := pair(t, address)
	a.add("m2", secret)
	settled(t, a, b)
	must(t, b.share.Leave(t.Context(), "team", false))
	ids, err := a.purge([]string{"m2"}, nil)
	must(t, err)
	confirmed(t, a, ids, 1)
	if b.content("m2") != secret {
		t.Fatal("a machine that does not take part lost its copy")
	}
	must(t, b.share.Join(t.Context(), "team", "team", address, false))
	settled(t, a, b)
	purgedFrom(t, address, secret, a, b)
}

// purgeOtherSpaces: what another machine purges takes nothing from the spaces that it does not take part in.
func purgeOtherSpaces(t *testing.T, address string) {
	a, b := pair(t, address)
	_, err := b.store.Update(t.Context(), store.Meta{Space: "private", Actor: "client"}, func(tx *store.Tx) error {
		return tx.Put(memtest.Fact("p1", "Mine: "+secret))
	})
	must(t, err)
	a.add("m2", "Ours: "+secret)
	settled(t, a, b)
	ids, err := a.purge(nil, []string{secret})
	must(t, err)
	confirmed(t, a, ids, 2)
	settled(t, a, b)
	if got := b.content("m2"); got != "Ours: [purged]" {
		t.Errorf("b holds %q", got)
	}
	if m, err := b.store.Space("private").Get("p1"); err != nil || m.Content != "Mine: "+secret {
		t.Errorf("the private space holds %+v, %v", m, err)
	}
}

// purgePrivate: what is purged in a private space is told to a shared one as far as that holds it, and no further.
func purgePrivate(t *testing.T, address string) {
	const own = "the diary lies under the almond tree"
	a, b := pair(t, address)
	_, err := a.store.Update(t.Context(), store.Meta{Space: "private", Actor: "client"}, func(tx *store.Tx) error {
		return errors.Join(tx.Put(memtest.Fact("p1", own)), tx.Put(memtest.Fact("p2", secret)))
	})
	must(t, err)
	a.add("m2", "Ours: "+secret)
	settled(t, a, b)
	rows := query(t, address, "SELECT count(*)::text FROM memsidecar.log")
	ids, err := a.purgeIn("private", []string{"p1"}, nil)
	must(t, err)
	settled(t, a, b)
	eventually(t, func() string { return strings.Join(a.holders(own), ", ") })
	if told := a.share.AwaitPurges(t.Context(), ids); len(told) != 0 {
		t.Errorf("the shared space was told: %+v", told)
	}
	if now := query(t, address, "SELECT count(*)::text FROM memsidecar.log"); now != rows {
		t.Errorf("the log has %s rows, not %s", now, rows)
	}
	b.stop() // the texts stay in the database until it was here
	_, err = a.purgeIn("private", []string{"p2"}, []string{own})
	must(t, err)
	eventually(t, func() string {
		return query(t, address, "SELECT CASE WHEN count(*) = 1 THEN '' ELSE 'no purge' END FROM memsidecar.purge")
	})
	if told := query(t, address, "SELECT texts FROM memsidecar.purge"); told != `["`+secret+`"]` {
		t.Errorf("the database was told %s", told)
	}
	b.connect()
	settled(t, a, b)
	if got := b.content("m2"); got != "Ours: [purged]" {
		t.Errorf("b holds %q", got)
	}
}

// purgeChain: a replaced row is checked like any other.
func purgeChain(t *testing.T, address string) {
	a, b := pair(t, address)
	a.add("m2", secret)
	a.add("m3", "Nothing special")
	settled(t, a, b)
	ids, err := a.purge([]string{"m2"}, nil)
	must(t, err)
	confirmed(t, a, ids, 2)
	if n := query(t, address, "SELECT count(*)::text FROM memsidecar.log WHERE replaced IS NOT NULL"); n != "1" {
		t.Fatalf("%s rows were replaced", n)
	}
	must(t, b.share.Leave(t.Context(), "team", false))
	query(t, address, "UPDATE memsidecar.log SET record = replace(record, '[purged]', '[painted]') WHERE replaced IS NOT NULL RETURNING 'x'")
	err = b.share.Join(t.Context(), "team", "team", address, false)
	if err == nil || !strings.Contains(err.Error(), "does not match its hash") {
		t.Errorf("a changed replacement was read: %v", err)
	}
}

// TestCrashWhilePurging crashes each of two machines at each operation of its file system, from the announcement on.
func TestCrashWhilePurging(t *testing.T) {
	address := postgres.Start(t).Database(t, "crash")
	for which, name := range []string{"asks", "is told"} {
		t.Run(name, func(t *testing.T) {
			crashed, step := 0, 3
			if memtest.RaceDetector {
				step = 11
			}
			for k := 0; purgeAndCrash(t, address, fmt.Sprint("p", which, "x", k), which, k); k += step {
				crashed++
			}
			if crashed < 30/step {
				t.Errorf("only %d operations were crashed", crashed)
			}
			t.Logf("%d operations of the file system were crashed", crashed)
		})
	}
}

// purgeAndCrash purges at the first of two machines and crashes one of them at its k-th operation from then on.
func purgeAndCrash(t *testing.T, address, remote string, which, k int) (hit bool) {
	sims := []*crashfs.FS{crashfs.New(), crashfs.New()}
	nodes := []*node{start(t, sims[0]), start(t, sims[1])}
	a, b := nodes[0], nodes[1]
	a.add("m1", secret)
	a.add("m2", "Quoting: "+secret+"!")
	must(t, shareAs(a, remote, address))
	must(t, b.share.Join(t.Context(), remote, "team", address, false))
	settled(t, a, b)
	sims[which].CrashAt(sims[which].Ops() + k)
	_, err := a.purge([]string{"m1"}, nil)
	for range 100 {
		if s := b.share.Status(); sims[which].Crashed() || err == nil && len(s[0].Purges) > 0 && len(s[0].Purges[0].Missing) == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	hit = sims[which].Crashed()
	nodes[which].stop()
	sims[which] = sims[which].Crash(crashfs.CrashMode(k%2), nil)
	nodes[which] = start(t, sims[which])
	if err != nil && nodes[0].content("m1") == secret {
		_, err = nodes[0].purge([]string{"m1"}, nil) // it failed before anything happened
		must(t, err)
	}
	within(t, 10*time.Second, func() string {
		for i, n := range nodes {
			if s := n.share.Status(); len(s) != 1 || s[0].Error != "" || n.content("m1") != "" || n.content("m2") != "Quoting: [purged]!" {
				return fmt.Sprintf("crash at %d, node %d: %+v, %q, %q", k, i, s, n.content("m1"), n.content("m2"))
			}
		}
		return ""
	})
	settled(t, nodes...)
	eventually(t, func() string {
		for i, n := range nodes {
			if names := n.holders(secret); len(names) > 0 {
				return fmt.Sprintf("crash at %d: node %d holds the text in %v", k, i, names)
			}
		}
		return ""
	})
	if n := query(t, address, "SELECT count(*)::text FROM memsidecar.log WHERE record LIKE '%"+secret+"%'"); n != "0" {
		t.Fatalf("crash at %d: %s rows of the log hold the text", k, n)
	}
	for _, n := range nodes {
		n.stop()
	}
	return hit
}

// TestCutWhilePurging cuts the connection of the machine that purges at each message to and from the server.
func TestCutWhilePurging(t *testing.T) {
	pg := postgres.Start(t)
	address, p := pg.Database(t, "cuts"), newProxy(t, pg)
	b := start(t, crashfs.New())
	must(t, b.share.Start(t.Context(), "team", address))
	a := start(t, crashfs.New())
	must(t, a.share.Join(t.Context(), "team", "team", p.address("cuts"), false))
	step := 4
	if os.Getenv(longTests) != "" {
		step = 1
	}
	for _, way := range []direction{toServer, toClient} {
		cuts := 0
		for n := 1; purgeAndCut(t, a, b, p, way, n); n += step {
			cuts++
		}
		if cuts < 12/step {
			t.Errorf("only %d cuts in direction %d", cuts, way)
		}
		t.Logf("direction %d: %d cuts", way, cuts)
	}
	purgedFrom(t, address, secret, a, b)
}

// purgeAndCut purges at a, cuts its connection at piece n in a direction, and reports whether there was one.
func purgeAndCut(t *testing.T, a, b *node, p *proxy, way direction, n int) (hit bool) {
	t.Helper()
	id := fmt.Sprintf("d%dn%d", way, n)
	b.add(id, secret+" "+id)
	settled(t, a, b)
	pieces := 0
	p.set(func(w direction) verdict { // called with a lock held
		if w == way {
			pieces++
		}
		if w == way && pieces == n {
			hit = true
			return cut
		}
		return pass
	})
	ids, err := a.purge([]string{id}, nil)
	must(t, err)
	within(t, 20*time.Second, func() string {
		if len(a.holders(secret))+len(b.holders(secret)) > 0 || a.content(id) != "" || b.content(id) != "" {
			return "not erased everywhere: " + id
		}
		return ""
	})
	confirmed(t, a, ids, 2)
	settled(t, a, b)
	p.set(nil)
	return hit
}
