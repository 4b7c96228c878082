package share_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// node is a store with the sharing of its spaces.
type node struct {
	t     testing.TB
	fs    durable.FS
	store *store.Store
	share *share.Service
	stop  func()
	// how often something began to be loaded, and how often it ended
	loads, loaded atomic.Int32
}

// loading is for share.Config.
func (n *node) loading() (done func()) {
	n.loads.Add(1)
	return func() { n.loaded.Add(1) }
}

// start opens a node on a file system and begins to exchange.
func start(t testing.TB, fsys durable.FS) *node { return startAt(t, fsys, time.Now) }

// startAt is start with a clock. History is kept for a day, in small segments.
func startAt(t testing.TB, fsys durable.FS, now func() time.Time) *node {
	t.Helper()
	n := &node{t: t, fs: fsys, share: share.New()}
	var err error
	n.store, err = store.Open(store.Config{FS: fsys, Now: now, Logger: slog.New(slog.DiscardHandler),
		Projections: []store.Projection{n.share}, SegmentSize: 16 << 10, HistoryDays: 1, Needed: n.share.Needed,
		ReadOnly: n.share.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	err = n.share.Open(t.Context(), share.Config{Store: n.store, FS: fsys, Now: now, Logger: slog.New(slog.DiscardHandler),
		Location: time.UTC, Host: "test", Poll: 200 * time.Millisecond, Erase: n.erase, Mirror: words,
		Loading: n.loading})
	if err != nil {
		t.Fatal(err)
	}
	_, err = durable.CleanTemp(fsys, ".") // this and the next, as the daemon does before it serves
	must(t, err)
	if p, err := n.store.PendingPurge(); p != nil {
		must(t, err)
		must(t, finish(t.Context(), p))
	}
	n.connect()
	t.Cleanup(func() { n.stop(); _ = n.store.Close(context.Background()) })
	return n
}

// connect begins to exchange, disconnect ends it.
func (n *node) connect() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = n.share.Run(ctx) }()
	n.stop = func() { cancel(); <-done }
}

func (n *node) update(fn func(*store.Tx) error) store.Result {
	n.t.Helper()
	res, err := n.store.Update(n.t.Context(), store.Meta{Space: "team", Actor: journal.ActorClient}, fn)
	if err != nil {
		n.t.Fatal(err)
	}
	return res
}

func (n *node) add(id, content string) {
	n.t.Helper()
	n.update(func(tx *store.Tx) error { return tx.Put(memtest.Fact(id, content)) })
}

func (n *node) change(id string, change func(*memory.Memory)) store.Result {
	n.t.Helper()
	return n.update(func(tx *store.Tx) error {
		m := tx.Memory(id).Clone()
		change(m)
		return tx.Put(m)
	})
}

func (n *node) content(id string) string {
	m, err := n.store.Space("team").Get(id)
	if err != nil {
		return ""
	}
	return m.Content
}

// state is what is shared of the space, as text.
func (n *node) state() string {
	c := n.store.Space("team").Contents()
	var b strings.Builder
	memories := map[string]*memory.Memory{}
	for _, m := range c.Memories {
		memories[m.ID] = merge.Shared(m)
	}
	v := merge.Values{Memories: memories, Forgotten: c.Forgotten, Summary: &c.Summary}
	for _, key := range v.Keys() {
		if id := merge.MemoryID(key); id != "" {
			fmt.Fprintf(&b, "%s %+v\n", key, describe(memories[id]))
		} else {
			fmt.Fprintln(&b, key, c.Forgotten[merge.ForgottenHash(key)].UTC())
		}
	}
	return b.String() + c.Summary
}

func describe(m *memory.Memory) string {
	raw, err := journal.MemoryLine{Memory: m}.AppendJSON(nil)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// settled waits until nothing waits anywhere and all nodes hold the same.
func settled(t testing.TB, nodes ...*node) {
	t.Helper()
	eventually(t, func() string {
		want := nodes[0].state()
		for i, n := range nodes {
			s := n.share.Status()
			if len(s) != 1 || s[0].Waiting > 0 || s[0].Position != nodes[0].share.Status()[0].Position {
				return fmt.Sprintf("node %d: %+v", i, s)
			}
			if got := n.state(); got != want {
				return fmt.Sprintf("node %d holds\n%s\nnode 0 holds\n%s", i, got, want)
			}
		}
		return ""
	})
}

// eventually waits until problem returns "", for 5 s.
func eventually(t testing.TB, problem func() string) {
	t.Helper()
	within(t, 5*time.Second, problem)
}

// within waits until problem returns "", at most so long.
func within(t testing.TB, atMost time.Duration, problem func() string) {
	t.Helper()
	last := ""
	for range atMost / (10 * time.Millisecond) {
		if last = problem(); last == "" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal(last)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writesWhileSettingUp writes to a space on both sides while it is shared and joined: everything must arrive.
func writesWhileSettingUp(t *testing.T, address string) {
	a, b := start(t, crashfs.New()), start(t, crashfs.New())
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for i, n := range []*node{a, b} {
		for w := range 2 {
			writers.Go(func() {
				for k := 0; ctx.Err() == nil; k++ {
					n.add(fmt.Sprintf("n%dw%dk%d", i, w, k), fmt.Sprintf("fact %d of writer %d at %d", k, w, i))
					time.Sleep(2 * time.Millisecond) // a slow machine must not have to exchange thousands
				}
			})
		}
	}
	err := a.share.Start(t.Context(), "team", address)
	if err == nil {
		err = b.share.Join(t.Context(), "team", "team", address, false)
	}
	cancel()
	writers.Wait()
	must(t, err)
	settled(t, a, b)
}

// pair shares space team of a first node with a second one.
func pair(t *testing.T, address string) (a, b *node) {
	t.Helper()
	a, b = start(t, crashfs.New()), start(t, crashfs.New())
	a.add("m1", "The build runs on port 8080")
	must(t, a.share.Start(t.Context(), "team", address))
	must(t, b.share.Join(t.Context(), "team", "team", address, false))
	settled(t, a, b)
	return a, b
}

func TestShare(t *testing.T) {
	pg := postgres.Start(t)
	for i, tt := range []struct {
		name string
		run  func(t *testing.T, address string)
	}{
		{"both ways", bothWays}, {"text conflict", textConflict}, {"retired and changed", retiredAndChanged},
		{"fields and sets", fieldsAndSets}, {"forgotten", forgotten}, {"undo", undo}, {"joined with memories", joinedWithMemories},
		{"restart", restart}, {"names and refusals", refusals}, {"damage", damage}, {"many", many}, {"writes while setting up", writesWhileSettingUp},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, pg.Database(t, fmt.Sprintf("d%d", i))) })
	}
	t.Run("killed server", func(t *testing.T) { killedServer(t, pg) })
}

func bothWays(t *testing.T, address string) {
	a, b := pair(t, address)
	if got := b.content("m1"); got == "" {
		t.Fatal("the joined space does not hold what was there")
	}
	b.add("m2", "Tests need a database")
	a.store.CountAccess("team", []string{"m1"}, time.Now())
	b.store.CountAccess("team", []string{"m1"}, time.Now())
	must(t, a.store.FlushAccesses(t.Context()))
	must(t, b.store.FlushAccesses(t.Context()))
	a.update(func(tx *store.Tx) error { tx.SetSummary("A build on 8080"); return nil })
	eventually(t, func() string {
		if a.content("m2") == "" || b.store.Space("team").Summary() == "" {
			return "not exchanged"
		}
		return ""
	})
	settled(t, a, b)
	m, err := b.store.Space("team").Get("m1")
	if err != nil || m.AccessCount() != 2 {
		t.Errorf("%d accesses, %v; want those of both", m.AccessCount(), err)
	}
	history, err := a.store.History(t.Context(), "team", "m2", 10)
	if err != nil || len(history) != 1 || history[0].Actor != journal.ActorShare || !strings.Contains(history[0].Reason, "of store "+b.store.Origin()[:8]) {
		t.Errorf("history of a received memory: %+v, %v", history, err)
	}
}

// apart runs a and b changes while neither sees the other, a's being sent first.
func apart(t *testing.T, a, b *node, changeA, changeB func()) {
	t.Helper()
	a.stop()
	b.stop()
	changeA()
	changeB()
	a.connect()
	eventually(t, func() string {
		if n := a.share.Status()[0].Waiting; n > 0 {
			return fmt.Sprint(n, " operations wait")
		}
		return ""
	})
	b.connect()
	settled(t, a, b)
}

// reviews counts the entries for review in the logs of a node.
func (n *node) reviews() (texts []string) {
	for _, d := range n.store.Space("team").Days() {
		_, entries, err := n.store.Space("team").Log(d.Date)
		must(n.t, err)
		for _, e := range entries {
			texts = append(texts, e.Content)
		}
	}
	return texts
}

func textConflict(t *testing.T, address string) {
	a, b := pair(t, address)
	apart(t, a, b, func() { a.change("m1", func(m *memory.Memory) { m.Content = "The build runs on port 9090" }) },
		func() { b.change("m1", func(m *memory.Memory) { m.Content = "The build runs on port 7070" }) })
	if got := a.content("m1"); got != "The build runs on port 7070" {
		t.Errorf("%q was chosen, want the later in the log", got)
	}
	if got := b.reviews(); len(got) != 1 || got[0] != "The build runs on port 9090" {
		t.Errorf("for review: %q", got)
	}
	for i, n := range []*node{a, b} {
		history, err := n.store.History(t.Context(), "team", "m1", 10)
		must(t, err)
		if !strings.Contains(fmt.Sprint(texts(history)), "9090") {
			t.Errorf("node %d: no version has the text that lost: %q", i, texts(history))
		}
	}
}

func texts(history []*journal.Record) (out []string) {
	for _, rec := range history {
		for _, c := range rec.Changes {
			if c.Memory != nil && c.Memory.After != nil {
				out = append(out, c.Memory.After.Content)
			}
		}
	}
	return out
}

func retiredAndChanged(t *testing.T, address string) {
	a, b := pair(t, address)
	apart(t, a, b, func() { a.change("m1", func(m *memory.Memory) { m.Status = memory.Retired }) },
		func() { b.change("m1", func(m *memory.Memory) { m.Content = "The build runs on port 7070" }) })
	m, err := a.store.Space("team").Get("m1")
	must(t, err)
	if !m.IsActive() || m.Content != "The build runs on port 7070" || len(b.reviews()) != 1 {
		t.Errorf("%s %q, %d for review; want it active and one", m.Status, m.Content, len(b.reviews()))
	}
}

func fieldsAndSets(t *testing.T, address string) {
	a, b := pair(t, address)
	apart(t, a, b, func() {
		a.change("m1", func(m *memory.Memory) { m.Tags, m.Salience = []string{"build"}, 0.9 })
		a.add("m3", "Alice reviews on Mondays")
	}, func() {
		b.change("m1", func(m *memory.Memory) { m.Tags, m.Pinned = []string{"port"}, true })
		b.change("m1", func(m *memory.Memory) { m.Content = "The build runs on port 8081" })
	})
	m, err := a.store.Space("team").Get("m1")
	must(t, err)
	if fmt.Sprint(m.Tags) != "[build port]" || m.Salience != 0.9 || !m.Pinned || m.Content != "The build runs on port 8081" {
		t.Errorf("merged to %+v", m)
	}
	if len(b.reviews()) != 0 {
		t.Errorf("for review: %q, want nothing", b.reviews())
	}
}

func forgotten(t *testing.T, address string) {
	a, b := pair(t, address)
	secret := "Bob lives in Paris"
	apart(t, a, b, func() { a.update(func(tx *store.Tx) error { tx.Forget(secret); return nil }) },
		func() { b.add("m9", secret) })
	m, err := a.store.Space("team").Get("m9")
	must(t, err)
	if m.IsActive() {
		t.Error("a forgotten value was learnt by another machine")
	}
	// Saved again on purpose by somebody who knows: it holds.
	b.update(func(tx *store.Tx) error {
		tx.Unforget(secret)
		return tx.Put(memtest.Fact("m10", secret))
	})
	eventually(t, func() string { return map[bool]string{true: "", false: "not there"}[a.content("m10") != ""] })
	settled(t, a, b)
	if m, err := a.store.Space("team").Get("m10"); err != nil || !m.IsActive() {
		t.Errorf("%+v, %v; want it active", m, err)
	}
}

func undo(t *testing.T, address string) {
	a, b := pair(t, address)
	a.change("m1", func(m *memory.Memory) { m.Content = "The build runs on port 1" })
	eventually(t, func() string {
		return map[bool]string{true: "", false: "not there"}[b.content("m1") == "The build runs on port 1"]
	})
	m, err := b.store.Space("team").Get("m1")
	must(t, err)
	_, err = b.store.Undo(t.Context(), store.Meta{}, m.Revision)
	must(t, err)
	eventually(t, func() string {
		return map[bool]string{true: "", false: "not undone"}[a.content("m1") == "The build runs on port 8080"]
	})
	settled(t, a, b)
}

func joinedWithMemories(t *testing.T, address string) {
	a, b := start(t, crashfs.New()), start(t, crashfs.New())
	a.add("m1", "one of a")
	a.add("m2", "two of a")
	b.add("m2", "two of b")
	b.add("m3", "three of b")
	must(t, a.share.Start(t.Context(), "team", address))
	must(t, b.share.Join(t.Context(), "team", "team", address, false))
	eventually(t, func() string { return map[bool]string{true: "", false: "not there"}[a.content("m3") != ""] })
	settled(t, a, b)
	if got := b.content("m2"); got != "two of a" || len(b.reviews()) != 1 {
		t.Errorf("%q and %q for review; want the log's text, and the other for review", got, b.reviews())
	}
	// Left and joined again: nothing doubles.
	must(t, b.share.Leave(t.Context(), "team", false))
	b.add("m4", "four of b, meanwhile")
	before := a.share.Status()[0].Position
	must(t, b.share.Join(t.Context(), "team", "team", address, false))
	eventually(t, func() string { return map[bool]string{true: "", false: "not there"}[a.content("m4") != ""] })
	settled(t, a, b)
	if after := a.share.Status()[0].Position; after != before+1 {
		t.Errorf("%d rows were added by joining again, want 1", after-before)
	}
	// Nothing is shared any more, so nothing stays connected.
	must(t, b.share.Leave(t.Context(), "team", false))
	must(t, a.share.Leave(t.Context(), "team", false))
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	eventually(t, func() string {
		open := 0
		must(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "+
			"application_name = 'memsidecar'").Scan(&open))
		return map[bool]string{true: "", false: fmt.Sprint(open, " connections are still open")}[open == 0]
	})
}

func restart(t *testing.T, address string) {
	a, b := pair(t, address)
	b.stop()
	for i := range 5 {
		b.add(fmt.Sprint("w", i), fmt.Sprint("waiting memory number ", i))
		a.add(fmt.Sprint("x", i), fmt.Sprint("another memory number ", i))
	}
	b.store.CountAccess("team", []string{"m1", "w1"}, time.Now())
	must(t, b.store.Close(t.Context()))
	b = start(t, b.fs)
	settled(t, a, b)
	m, err := a.store.Space("team").Get("w1")
	if err != nil || m.AccessCount() != 1 {
		t.Errorf("%+v, %v; want what waited, with its access", m, err)
	}
}

func refusals(t *testing.T, address string) {
	a, b := pair(t, address)
	if err := b.share.Join(t.Context(), "team", "team", address, false); !errors.Is(err, memory.ErrExists) {
		t.Errorf("joined twice: %v", err)
	}
	if err := b.share.Join(t.Context(), "nothing", "other", address, false); err == nil || !strings.Contains(err.Error(), "no such space") {
		t.Errorf("joined nothing: %v", err)
	}
	c := start(t, crashfs.New())
	if err := c.share.Start(t.Context(), "team", address); !errors.Is(err, memory.ErrExists) {
		t.Errorf("shared under a name that is taken: %v", err)
	}
	must(t, c.share.Join(t.Context(), "team", "team", address, false))
	settled(t, a, b, c)
}

func damage(t *testing.T, address string) {
	a, b := pair(t, address)
	b.stop()
	a.add("m2", "an honest memory")
	a.add("m3", "another honest memory")
	settled(t, a)
	(&postgres.Server{}).Exec(t, address, `UPDATE memsidecar.log SET record = replace(record, 'an honest', 'a changed') WHERE record LIKE '%an honest%'`)
	b.connect()
	eventually(t, func() string {
		if s := b.share.Status()[0]; !s.Stopped || !strings.Contains(s.Error, "row 1 of the log does not match its hash") {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
	b.add("m4", "local work goes on")
	if b.content("m2") != "" || b.content("m4") == "" {
		t.Error("a damaged row was applied, or local work ended")
	}
}

// many has both write much while they are apart.
func many(t *testing.T, address string) {
	a, b := pair(t, address)
	write := func(n *node, prefix string) func() {
		return func() {
			for i := range 600 {
				n.add(fmt.Sprint(prefix, i), fmt.Sprintf("memory %d of %s", i, prefix))
			}
		}
	}
	apart(t, a, b, write(a, "a"), write(b, "b"))
	c := start(t, crashfs.New())
	must(t, c.share.Join(t.Context(), "team", "team", address, false))
	settled(t, a, b, c)
	if got := c.store.Space("team").Count(); got != 1201 {
		t.Errorf("%d memories, want 1201", got)
	}
}

func killedServer(t *testing.T, pg *postgres.Server) {
	a, b := pair(t, pg.Database(t, "killed"))
	for round := range 3 {
		for i := range 20 {
			a.add(fmt.Sprintf("a%d-%d", round, i), "a memory")
			b.add(fmt.Sprintf("b%d-%d", round, i), "another memory")
			if i == 10 {
				pg.Kill()
			}
		}
		pg.Restart(t)
	}
	settled(t, a, b)
	if got := a.store.Space("team").Count(); got != 121 {
		t.Errorf("%d memories, want 121", got)
	}
}

// TestWriteWhileJoining writes to a space in which nothing was, at each message of its joining: the space is compared
// with the log then, and what was written is sent.
func TestWriteWhileJoining(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	address, p := pg.Database(t, "joining"), newProxy(t, pg)
	a := start(t, crashfs.New())
	a.add("m1", "The build runs on port 8080")
	must(t, a.share.Start(t.Context(), "team", address))
	for k := 1; ; k++ {
		b, pieces, written := start(t, crashfs.New()), 0, false
		id := fmt.Sprint("w", k)
		p.set(func(way direction) verdict {
			if way == toClient {
				pieces++
			}
			if pieces == k && !written {
				written = true
				b.add(id, "written while the space was joined, number "+id)
			}
			return pass
		})
		must(t, b.share.Join(t.Context(), "team", "team", p.address("joining"), false))
		p.set(nil)
		if !written {
			if k < 5 {
				t.Errorf("only %d messages", k)
			}
			return
		}
		eventually(t, func() string {
			return map[bool]string{true: "", false: id + " was never sent"}[a.content(id) != ""]
		})
		settled(t, a, b)
		must(t, b.share.Leave(t.Context(), "team", false))
		b.stop()
	}
}
