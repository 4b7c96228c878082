package share_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
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

// today is the date of the daily log that tests write to.
func today() string { return time.Now().UTC().Format(time.DateOnly) }

// logEntry is an entry of a daily log.
func logEntry(id, content string) *memory.Entry {
	at := time.Now().UTC().Truncate(time.Second)
	return &memory.Entry{ID: id, At: at, Time: at.Format(time.TimeOnly), Type: memory.EntryEvent, Content: content}
}

// log appends an entry to a daily log.
func (n *node) log(date, id, content string) {
	n.t.Helper()
	n.update(func(tx *store.Tx) error { return tx.AppendEntry(date, logEntry(id, content)) })
}

// entries are those of the daily logs, as ID=CONTENT, without items for review. Those of other machines have a star.
func (n *node) entries() (out []string) {
	n.t.Helper()
	for _, d := range n.store.Space("team").Days() {
		_, entries, err := n.store.Space("team").Log(d.Date)
		must(n.t, err)
		for _, e := range entries {
			text := e.ID + "=" + e.Content
			if e.IsReceived() {
				text += "*"
			}
			if e.Type != memory.EntryReview {
				out = append(out, text)
			}
		}
	}
	slices.Sort(out)
	return out
}

// hasEntries waits until a node holds entries.
func (n *node) hasEntries(want ...string) {
	n.t.Helper()
	eventually(n.t, func() string {
		if got := n.entries(); !slices.Equal(got, want) {
			return fmt.Sprintf("entries %q, want %q; %+v", got, want, n.share.Status())
		}
		return ""
	})
}

// changeEntry replaces an entry, or removes it when after is nil.
func (n *node) changeEntry(date, id string, after func(*memory.Entry) *memory.Entry) {
	n.t.Helper()
	_, entries, err := n.store.Space("team").Log(date)
	must(n.t, err)
	for _, e := range entries {
		if e.ID == id {
			n.update(func(tx *store.Tx) error { return tx.ChangeEntry(date, e, after(e)) })
			return
		}
	}
	n.t.Fatalf("there is no entry %s in the log of %s", id, date)
}

// deleteDay deletes a daily log as the archiver does.
func (n *node) deleteDay(date string) {
	n.t.Helper()
	day, entries, err := n.store.Space("team").Log(date)
	must(n.t, err)
	_, err = n.store.Update(n.t.Context(), store.Meta{Space: "team", Actor: journal.ActorArchive}, func(tx *store.Tx) error {
		tx.PutArchived(&memory.Archived{ID: date, Date: date, Entries: len(entries), At: tx.Now(), DeletedAt: tx.Now()})
		return tx.RemoveDay(day, entries)
	})
	must(n.t, err)
}

// sameLogs waits until nodes hold the same entries, and returns how many.
func sameLogs(t *testing.T, nodes ...*node) (count int) {
	t.Helper()
	plain := func(n *node) []string {
		out := n.entries()
		for i := range out {
			out[i] = strings.TrimSuffix(out[i], "*")
		}
		return out
	}
	eventually(t, func() string {
		want := plain(nodes[0])
		count = len(want)
		for i, n := range nodes {
			if got := plain(n); !slices.Equal(got, want) {
				return fmt.Sprintf("node %d holds\n%q\nnode 0 holds\n%q", i, got, want)
			}
		}
		return ""
	})
	return count
}

// TestLogs shares daily logs.
func TestLogs(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	for name, run := range map[string]func(t *testing.T, address string){
		"chosen": logsChosen, "merged": logsMerged, "deleted": logsDeleted, "purged": logsPurged, "read only": logsReadOnly,
		"older program": logsOlderProgram,
	} {
		t.Run(name, func(t *testing.T) { run(t, pg.Database(t, "logs_"+strings.ReplaceAll(name, " ", "_"))) })
	}
}

// logsChosen: each machine sends what was written while it wanted to, and receives all that was sent.
func logsChosen(t *testing.T, address string) {
	a, b := pair(t, address)
	a.log(today(), "a1", "before")
	must(t, a.share.SetLogs("team", true))
	a.log(today(), "a2", "while on")
	b.log(today(), "b1", "never sent")
	settled(t, a, b)
	b.hasEntries("b1=never sent") // and not that of a
	must(t, b.share.SetLogs("team", true))
	b.hasEntries("a2=while on*", "b1=never sent") // what was sent before, too
	b.log(today(), "b2", "sent")
	a.hasEntries("a1=before", "a2=while on", "b2=sent*")

	must(t, a.share.SetLogs("team", false))
	a.log(today(), "a3", "while off")
	b.log(today(), "b3", "for later")
	settled(t, a, b)
	b.hasEntries("a2=while on*", "b1=never sent", "b2=sent", "b3=for later")
	a.hasEntries("a1=before", "a2=while on", "a3=while off", "b2=sent*")
	must(t, a.share.SetLogs("team", true))
	a.hasEntries("a1=before", "a2=while on", "a3=while off", "b2=sent*", "b3=for later*")

	c := start(t, crashfs.New()) // joins later, and starts again
	must(t, c.share.Join(t.Context(), "team", "team", address, false))
	must(t, c.share.SetLogs("team", true))
	c.hasEntries("a2=while on*", "b2=sent*", "b3=for later*")
	c.stop()
	c.log(today(), "c1", "offline")
	must(t, c.store.Close(t.Context()))
	c = start(t, c.fs)
	a.hasEntries("a1=before", "a2=while on", "a3=while off", "b2=sent*", "b3=for later*", "c1=offline*")
	eventually(t, func() string { // the row may be at a before c has the reply of the database
		if st := c.share.Status()[0]; !st.Logs || st.Waiting != 0 {
			return fmt.Sprintf("%+v; want logs, and nothing that waits", st)
		}
		return ""
	})
}

// logsMerged: entries are a set by id; the later change in the log is chosen, also of one that waits.
func logsMerged(t *testing.T, address string) {
	a, b := pair(t, address)
	must(t, a.share.SetLogs("team", true))
	must(t, b.share.SetLogs("team", true))
	a.log(today(), "x", "one")
	a.log(today(), "y", "two")
	sameLogs(t, a, b)
	apart(t, a, b, func() {
		a.changeEntry(today(), "x", func(e *memory.Entry) *memory.Entry { c := *e; c.Content = "of a"; return &c })
		a.log(today(), "za", "only a")
		a.changeEntry(today(), "y", func(*memory.Entry) *memory.Entry { return nil })
	}, func() {
		b.changeEntry(today(), "x", func(e *memory.Entry) *memory.Entry { c := *e; c.Content = "of b"; return &c })
		b.log(today(), "zb", "only b")
	})
	a.hasEntries("x=of b", "za=only a", "zb=only b*")
	b.hasEntries("x=of b*", "za=only a*", "zb=only b")
	a.update(func(tx *store.Tx) error {
		e := logEntry("review", "for a person")
		e.Type = memory.EntryReview
		return tx.AppendEntry(today(), e)
	})
	res := a.update(func(tx *store.Tx) error { return tx.AppendEntry(today(), logEntry("undone", "soon gone")) })
	b.hasEntries("undone=soon gone*", "x=of b*", "za=only a*", "zb=only b")
	_, err := a.store.Undo(t.Context(), store.Meta{Actor: journal.ActorUndo}, res.Op)
	must(t, err)
	b.hasEntries("x=of b*", "za=only a*", "zb=only b")
	if got := b.reviews(); slices.Contains(got, "for a person") {
		t.Errorf("an item for review was sent: %q", got)
	}
}

// logsDeleted: the deletion of a log stays on its machine, and no late entry brings the log back.
func logsDeleted(t *testing.T, address string) {
	a, b := pair(t, address)
	must(t, a.share.SetLogs("team", true))
	must(t, b.share.SetLogs("team", true))
	old, ancient := time.Now().UTC().AddDate(0, 0, -40).Format(time.DateOnly), "2020-01-01"
	a.log(old, "o1", "of that day")
	a.log(today(), "t1", "of today")
	sameLogs(t, a, b)
	b.deleteDay(old)
	a.log(old, "o2", "late")
	a.log(ancient, "o3", "far too late")
	settled(t, a, b)
	b.hasEntries("t1=of today*")
	a.hasEntries("o1=of that day", "o2=late", "o3=far too late", "t1=of today")
}

// logsPurged: a purge erases the text from entries, and entries that a memory was learnt from, everywhere.
func logsPurged(t *testing.T, address string) {
	a, b := pair(t, address)
	must(t, a.share.SetLogs("team", true))
	must(t, b.share.SetLogs("team", true))
	a.log(today(), "e1", "They said that "+secret)
	const paraphrase = "marzipan is the word for the safe"
	a.log(today(), "e2", paraphrase)
	a.update(func(tx *store.Tx) error {
		m := memtest.Fact("m9", secret)
		m.SetEvidence([]memory.Evidence{{Log: today(), Entry: "e2"}})
		return tx.Put(m)
	})
	settled(t, a, b)
	sameLogs(t, a, b)
	_, err := a.purge([]string{"m9"}, nil)
	must(t, err)
	settled(t, a, b)
	if n := sameLogs(t, a, b); n != 1 {
		t.Errorf("%d entries, want the one that was no evidence, without the text", n)
	}
	c := start(t, crashfs.New())
	must(t, c.share.Join(t.Context(), "team", "team", address, false))
	must(t, c.share.SetLogs("team", true))
	sameLogs(t, a, c)
	purgedFrom(t, address, secret, a, b)
	purgedFrom(t, address, paraphrase, a, b)
}

// logsReadOnly: who only receives a space receives its logs, and sends none.
func logsReadOnly(t *testing.T, address string) {
	a, b := start(t, crashfs.New()), start(t, crashfs.New())
	must(t, a.share.Start(t.Context(), "team", address))
	must(t, a.share.SetLogs("team", true))
	a.log(today(), "a1", "sent")
	must(t, b.share.Join(t.Context(), "team", "team", address, true))
	must(t, b.share.SetLogs("team", true))
	b.log(today(), "b1", "stays")
	b.hasEntries("a1=sent*", "b1=stays")
	a.add("m2", "Tests need a database")
	settled(t, a, b)
	a.hasEntries("a1=sent")
}

// logsOlderProgram: a program that does not know entries refuses them by the version of their row; rows without any
// stay what they were.
func logsOlderProgram(t *testing.T, address string) {
	a, b := pair(t, address)
	must(t, a.share.SetLogs("team", true))
	a.add("m2", "Tests need a database")
	a.log(today(), "a1", "sent")
	settled(t, a, b)
	const newest = "SELECT record::json->>'v' FROM memsidecar.log ORDER BY seq DESC LIMIT 1"
	if v := query(t, address, newest); v != "3" {
		t.Errorf("a row with an entry has version %s, want 3", v)
	}
	if v := query(t, address, newest+" OFFSET 1"); v != "1" {
		t.Errorf("a row without entries has version %s, want 1", v)
	}
	raw := query(t, address, "SELECT record FROM memsidecar.log ORDER BY seq DESC LIMIT 1")
	if !strings.Contains(raw, `"entries":[{"date":"`+today()+`","id":"a1"`) {
		t.Errorf("row: %s", raw)
	}
}

// TestCrashWhileLogsAreShared crashes a machine at each operation of its file system while it begins to share its daily
// logs, sends and receives.
func TestCrashWhileLogsAreShared(t *testing.T) {
	t.Parallel()
	address := postgres.Start(t).Database(t, "crash")
	crashed, step := 0, 1
	if memtest.RaceDetector {
		step = 3
	}
	for k := 0; ; k += step {
		remote := fmt.Sprint("t", k)
		a, sim := start(t, crashfs.New()), crashfs.New()
		must(t, shareAs(a, remote, address))
		must(t, a.share.SetLogs("team", true))
		a.log(today(), "a0", "sent before")
		b := start(t, sim)
		must(t, b.share.Join(t.Context(), remote, "team", address, false))
		settled(t, a, b)
		sim.CrashAt(sim.Ops() + k)
		chosen := b.share.SetLogs("team", true) == nil
		want := []string{"a0", "a1"}
		for i := range 3 {
			id := fmt.Sprint("b", i)
			_, err := b.store.Update(context.Background(), store.Meta{Space: "team", Actor: journal.ActorClient},
				func(tx *store.Tx) error { return tx.AppendEntry(today(), logEntry(id, "of b")) })
			if err == nil && chosen {
				want = append(want, id)
			}
		}
		a.log(today(), "a1", "of a")
		for range 30 {
			if sim.Crashed() || len(b.entries()) == 5 && b.share.Status()[0].Waiting == 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		hit := sim.Crashed()
		if hit {
			crashed++
		}
		b.stop()
		b = start(t, sim.Crash(crashfs.CrashMode(k%2), nil))
		if !b.share.Status()[0].Logs {
			if chosen {
				t.Fatalf("crash at %d: the choice was acknowledged and is lost", k)
			}
			must(t, b.share.SetLogs("team", true))
		}
		settled(t, a, b)
		for _, n := range []*node{a, b} {
			eventually(t, func() string {
				got := n.entries()
				for _, id := range want {
					count := 0
					for _, e := range got {
						if strings.HasPrefix(e, id+"=") {
							count++
						}
					}
					if count != 1 {
						return fmt.Sprintf("crash at %d: entry %s is there %d times: %q", k, id, count, got)
					}
				}
				return ""
			})
		}
		a.stop()
		b.stop()
		if !hit {
			break
		}
	}
	if crashed < 10/step {
		t.Errorf("only %d operations were crashed", crashed)
	}
	t.Logf("%d operations of the file system, each crashed once", crashed)
}

// TestStateFromBeforeLogs: the file of a program that knew no shared logs is read, and shares none; that of a newer
// program is refused by name.
func TestStateFromBeforeLogs(t *testing.T) {
	t.Parallel()
	pg := postgres.Start(t)
	a := start(t, crashfs.New())
	must(t, a.share.Start(t.Context(), "team", pg.Database(t, "before")))
	a.stop()
	must(t, a.store.Close(t.Context()))
	raw, err := durable.ReadFile(a.fs, "share/team.json")
	must(t, err)
	write := func(version string) {
		text := strings.Replace(string(raw), `"version":4`, `"version":`+version, 1)
		must(t, durable.WriteFile(a.fs, "share/team.json", func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}))
	}
	write("3")
	a = start(t, a.fs)
	a.log(today(), "a1", "stays here")
	a.add("m1", "The build runs on port 8080")
	eventually(t, func() string {
		if s := a.share.Status()[0]; s.Position != 1 || s.Waiting != 0 || s.Logs {
			return fmt.Sprintf("%+v; want the memory to be sent alone", s)
		}
		return ""
	})
	a.stop()
	write("5")
	err = share.New().Open(t.Context(), share.Config{Store: a.store, FS: a.fs, Now: time.Now})
	if !errors.Is(err, memory.ErrNewerVersion) {
		t.Errorf("a newer file: %v", err)
	}
}
