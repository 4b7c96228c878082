package share_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/memtest/postgres"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// as is an address for another user.
func as(user, address string) string { return strings.Replace(address, "postgres@", user+"@", 1) }

// TestReader: machines that receive a space and never write to it.
func TestReader(t *testing.T) {
	pg := postgres.Start(t)
	pg.Exec(t, pg.URL("postgres"), "CREATE ROLE guest LOGIN; CREATE ROLE stranger LOGIN")
	for name, test := range map[string]func(*testing.T, string){
		"receives": readerReceives, "refuses": readerRefuses, "purges": readerPurges, "holds": readerHolds,
		"behind": readerFarBehind,
	} {
		t.Run(name, func(t *testing.T) { test(t, pg.Database(t, "reader_"+name)) })
	}
}

// withReader shares a space of a with a reader whose user may only read.
func withReader(t *testing.T, address string) (a, r *node) {
	t.Helper()
	a, r = start(t, crashfs.New()), start(t, crashfs.New())
	a.add("m1", "The build runs on port 8080")
	must(t, a.share.Start(t.Context(), "team", address))
	(&postgres.Server{}).Exec(t, address, "GRANT USAGE ON SCHEMA memsidecar TO guest; "+
		"GRANT SELECT ON ALL TABLES IN SCHEMA memsidecar TO guest")
	must(t, r.share.Join(t.Context(), "team", "team", as("guest", address), true))
	settled(t, a, r)
	return a, r
}

// readerReceives: what others write arrives, nothing is sent, and no right but SELECT is needed.
func readerReceives(t *testing.T, address string) {
	a, r := withReader(t, address)
	a.add("m2", "Deployments happen on Thursdays")
	a.change("m1", func(m *memory.Memory) { m.Content = "The build runs on port 9090" })
	settled(t, a, r)
	if st := r.share.Status()[0]; !st.ReadOnly || !st.Unlisted || st.Error != "" || st.Waiting != 0 {
		t.Errorf("status of the reader: %+v", st)
	}
	if st := a.share.Status()[0]; st.ReadOnly || st.Unlisted {
		t.Errorf("status of the writer: %+v", st)
	}
	if n := query(t, address, "SELECT count(*)::text FROM memsidecar.member"); n != "1" {
		t.Errorf("%s machines are on the list, want the writer alone", n)
	}
	// The file of the state says so, to this program and, by its version, to older ones, which would write.
	raw, err := durable.ReadFile(r.fs, "share/team.json")
	must(t, err)
	if !strings.Contains(string(raw), `"version":4`) || !strings.Contains(string(raw), `"read_only":true`) {
		t.Errorf("the state is %.80s", raw)
	}
	// Again after a restart, with what was written meanwhile.
	r.stop()
	must(t, r.store.Close(t.Context()))
	a.add("m3", "The office closes at six")
	r = start(t, r.fs)
	settled(t, a, r)
	if _, err := r.store.Update(t.Context(), store.Meta{Space: "team", Actor: journal.ActorClient}, func(tx *store.Tx) error {
		return tx.Put(memtest.Fact("x", "not here"))
	}); !errors.Is(err, memory.ErrReadOnlySpace) {
		t.Errorf("a write after a restart: %v", err)
	}
	// With the right to the list it is on it. It has left before: an exchange in between would list it as what it was.
	must(t, r.share.Leave(t.Context(), "team", false))
	(&postgres.Server{}).Exec(t, address, "GRANT INSERT, UPDATE ON memsidecar.member TO guest")
	r.add("x", "now it is an ordinary space")
	must(t, r.share.Join(t.Context(), "team", "team", as("guest", address), true))
	if st := r.share.Status()[0]; st.Unlisted {
		t.Errorf("status of the reader with the right: %+v", st)
	}
	if n := query(t, address, "SELECT count(*)::text FROM memsidecar.member"); n != "2" {
		t.Errorf("%s machines are on the list, want both", n)
	}
	// What only the local space held stays, and is not sent.
	a.add("m4", "The canteen opens at noon")
	eventually(t, func() string { return map[bool]string{true: "", false: "not there"}[r.content("m4") != ""] })
	if r.content("x") == "" || a.content("x") != "" {
		t.Errorf("of the local memory, the reader holds %q and the writer %q", r.content("x"), a.content("x"))
	}
}

// readerRefuses: no actor changes what was received; logs and sessions are the machine's own.
func readerRefuses(t *testing.T, address string) {
	a, r := withReader(t, address)
	stranger := start(t, crashfs.New())
	err := stranger.share.Join(t.Context(), "team", "team", as("stranger", address), true)
	if !errors.Is(err, memory.ErrDatabase) || !strings.Contains(err.Error(), "the user lacks rights") {
		t.Errorf("joined without any right: %v", err)
	}
	err = stranger.share.Join(t.Context(), "team", "team", as("guest", address), false)
	if !errors.Is(err, memory.ErrDatabase) || !strings.Contains(err.Error(), "join with --read-only") {
		t.Errorf("joined to write without the right: %v", err)
	}
	if len(stranger.share.Status()) != 0 {
		t.Errorf("a failed joining is left: %+v", stranger.share.Status())
	}
	lsn := r.store.LSN()
	changes := map[string]func(*store.Tx) error{
		"a new memory": func(tx *store.Tx) error { return tx.Put(memtest.Fact("x", "not here")) },
		"a change": func(tx *store.Tx) error {
			m := tx.Memory("m1").Clone()
			m.Content = "changed"
			return tx.Put(m)
		},
		"a removal": func(tx *store.Tx) error { tx.Remove("m1"); return nil },
		"a summary": func(tx *store.Tx) error { tx.SetSummary("a summary"); return nil },
		"forgetting": func(tx *store.Tx) error {
			tx.SetForgotten(memory.ForgottenHash(r.store.Origin(), "a value"), time.Now())
			return nil
		},
		"an entry with a memory": func(tx *store.Tx) error {
			return errors.Join(tx.AppendEntry("2026-02-03", entry()), tx.Put(memtest.Fact("x", "not here")))
		},
	}
	for _, actor := range []string{
		journal.ActorClient, journal.ActorReflect, journal.ActorConsolidate, journal.ActorArchive, journal.ActorUndo,
		journal.ActorSession, journal.ActorDaemon, journal.ActorImport, journal.ActorEdit, journal.ActorView,
	} {
		for what, change := range changes {
			_, err := r.store.Update(t.Context(), store.Meta{Space: "team", Actor: actor}, change)
			if !errors.Is(err, memory.ErrReadOnlySpace) || !strings.Contains(err.Error(), "memsidecar share leave team") {
				t.Errorf("%s by %s: %v", what, actor, err)
			}
		}
	}
	if _, err := r.store.Undo(t.Context(), store.Meta{Space: "team"}, lastChange(t, r, "m1")); !errors.Is(err, memory.ErrReadOnlySpace) {
		t.Errorf("undo of what was received: %v", err)
	}
	if got := r.store.LSN(); got != lsn {
		t.Errorf("refused changes left %d operations", got-lsn)
	}
	// What is not shared goes on, here and in other spaces.
	r.update(func(tx *store.Tx) error { return tx.AppendEntry("2026-02-03", entry()) })
	_, err = r.store.Update(t.Context(), store.Meta{Space: "mine", Actor: journal.ActorClient}, changes["a new memory"])
	must(t, err)
	r.store.CountAccess("team", []string{"m1"}, time.Now())
	must(t, r.store.FlushAccesses(t.Context()))
	if m, err := r.store.Space("team").Get("m1"); err != nil || m.AccessCount() != 0 {
		t.Errorf("a use was counted, which the log will never know: %+v, %v", m, err)
	}
	a.add("m2", "Deployments happen on Thursdays")
	settled(t, a, r)
	must(t, r.share.Leave(t.Context(), "team", false))
	r.add("x", "and writable again")
}

func entry() *memory.Entry {
	return &memory.Entry{At: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), Time: "04:05:06", Type: memory.EntryEvent, Content: "said"}
}

// lastChange is the newest operation about a memory.
func lastChange(t *testing.T, n *node, id string) int64 {
	t.Helper()
	history, err := n.store.History(t.Context(), "team", id, 1)
	must(t, err)
	return history[0].Op
}

// readerPurges: a reader erases what others purge, and confirms it when it may. It cannot purge what it receives.
func readerPurges(t *testing.T, address string) {
	a, r := withReader(t, address)
	c := start(t, crashfs.New())
	(&postgres.Server{}).Exec(t, address, "CREATE ROLE listed LOGIN IN ROLE guest; "+
		"GRANT INSERT, UPDATE, DELETE ON memsidecar.member TO listed")
	must(t, c.share.Join(t.Context(), "team", "team", as("listed", address), true))
	a.add("m2", secret)
	a.add("m3", "Somebody said: "+secret+", twice")
	settled(t, a, r, c)
	for _, tt := range []struct {
		space string
		ids   []string
		texts []string
	}{{"team", []string{"m2"}, nil}, {"team", nil, []string{"a text that is nowhere"}}, {"mine", nil, []string{secret}}} {
		if _, err := r.purgeIn(tt.space, tt.ids, tt.texts); !errors.Is(err, memory.ErrReadOnlySpace) {
			t.Errorf("a purge of %v %v in space %s by a reader: %v", tt.ids, tt.texts, tt.space, err)
		}
	}
	if r.content("m2") == "" {
		t.Error("a refused purge erased something")
	}
	// A text of a space of its own, which the shared one does not hold, is nobody's business there.
	_, err := r.store.Update(t.Context(), store.Meta{Space: "mine", Actor: journal.ActorClient}, func(tx *store.Tx) error {
		return tx.Put(memtest.Fact("x", "a private thing about cinnamon"))
	})
	must(t, err)
	ids, err := r.purgeIn("mine", []string{"x"}, nil)
	must(t, err)
	if len(ids) != 0 {
		t.Errorf("a purge was announced by a reader: %v", ids)
	}
	r.stop()
	ids, err = a.purge([]string{"m2"}, nil)
	must(t, err)
	confirmed(t, a, ids, 2) // a and c; nobody waits for r
	r.connect()
	settled(t, a, r, c)
	purgedFrom(t, address, secret, a, r, c)
	if got := r.content("m3"); got != "Somebody said: [purged], twice" {
		t.Errorf("the reader holds %q", got)
	}
}

// readerHolds: what the local space held before it was joined stays in it or in its history, and asks nobody.
func readerHolds(t *testing.T, address string) {
	a, r := start(t, crashfs.New()), start(t, crashfs.New())
	a.add("m1", "The build runs on port 8080")
	must(t, a.share.Start(t.Context(), "team", address))
	r.add("m1", "The build runs on port 7070")
	r.add("own", "only here")
	must(t, r.share.Join(t.Context(), "team", "team", address, true))
	if got := r.content("m1"); got != "The build runs on port 8080" || r.content("own") != "only here" {
		t.Errorf("the reader holds %q and %q", got, r.content("own"))
	}
	history, err := r.store.History(t.Context(), "team", "m1", 10)
	if err != nil || len(history) != 2 || history[1].Changes[0].Memory.After.Content != "The build runs on port 7070" {
		t.Errorf("the history of the memory: %+v, %v", history, err)
	}
	if n := len(r.store.Space("team").Days()); n != 0 {
		t.Errorf("%d daily logs; nothing is left for review, because nothing could be accepted", n)
	}
	if err := r.share.Join(t.Context(), "team", "team", address, false); !errors.Is(err, memory.ErrExists) {
		t.Errorf("joined again to write: %v", err)
	}
}

// readerFarBehind: a reader whose history was trimmed meanwhile goes on: what it wrote itself was never to be sent.
func readerFarBehind(t *testing.T, address string) {
	a, c := start(t, crashfs.New()), &calendar{}
	a.add("m1", "The build runs on port 8080")
	must(t, a.share.Start(t.Context(), "team", address))
	r := startAt(t, crashfs.New(), c.now)
	must(t, r.share.Join(t.Context(), "team", "team", address, true))
	settled(t, a, r)
	r.stop()
	r.update(func(tx *store.Tx) error { return tx.AppendEntry("2026-02-03", entry()) })
	r.age(c, store.MaxNeededDays+30)
	r.update(func(tx *store.Tx) error { return tx.AppendEntry("2026-02-03", entry()) })
	for i := range 120 {
		a.add(fmt.Sprint("b", i), fmt.Sprintf("memory number %d", i))
	}
	must(t, r.store.Close(t.Context()))
	r = startAt(t, r.fs, c.now)
	if r.store.First() == 1 {
		t.Fatal("nothing was trimmed, so nothing is tested")
	}
	settled(t, a, r)
}
