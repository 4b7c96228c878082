package dailylog_test

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

func now() time.Time { return time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC) }

// open starts a store with a publisher of its logs.
func open(t *testing.T, fsys durable.FS) (*store.Store, *dailylog.Publisher) {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	p := dailylog.NewPublisher(dailylog.Config{FS: fsys, Now: now, Logger: logger})
	st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: logger, Projections: []store.Projection{p}})
	if err != nil {
		t.Fatal(err)
	}
	p.Attach(dailylog.FromStore(st))
	return st, p
}

func appendTo(t *testing.T, st *store.Store, space, date, id string) {
	t.Helper()
	_, err := st.Update(t.Context(), store.Meta{Space: space, Actor: "client"}, func(tx *store.Tx) error {
		return tx.AppendEntry(date, &memory.Entry{ID: id, Type: "event", Time: "12:00:00", At: now(), Content: "entry " + id})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func publishAll(t *testing.T, p *dailylog.Publisher) {
	t.Helper()
	if err := p.PublishAll(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// ids returns the ids of the entries in a published log.
func ids(t *testing.T, fsys durable.FS, name string) string {
	t.Helper()
	data, err := durable.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := dailylog.Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range f.Entries {
		list = append(list, e.ID)
	}
	return strings.Join(list, " ")
}

func TestPublish(t *testing.T) {
	fsys := crashfs.New()
	st, p := open(t, fsys)
	appendTo(t, st, "", "2026-02-20", "a")
	appendTo(t, st, "", "2026-02-21", "b")
	appendTo(t, st, "work", "2026-02-21", "c")
	publishAll(t, p)
	unchanged, err := fsys.Lstat("logs/2026-02-20.json")
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, st, "", "2026-02-21", "d")
	publishAll(t, p)
	got := map[string]string{}
	for _, name := range []string{"logs/2026-02-20.json", "logs/2026-02-21.json", "spaces/work/logs/2026-02-21.json"} {
		got[name] = ids(t, fsys, name)
	}
	want := map[string]string{"logs/2026-02-20.json": "a", "logs/2026-02-21.json": "b d", "spaces/work/logs/2026-02-21.json": "c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if after, err := fsys.Lstat("logs/2026-02-20.json"); err != nil || !after.ModTime().Equal(unchanged.ModTime()) {
		t.Errorf("a day that did not change was written again")
	}
	if s := p.Status(); len(s) != 3 || s[1].Key != "default/2026-02-21" || s[1].Revision != 4 || s[1].Pending {
		t.Errorf("status %+v", s)
	}
}

// What was not published when the machine stopped is published at the next start.
func TestCatchesUp(t *testing.T) {
	fsys := crashfs.New()
	st, p := open(t, fsys)
	appendTo(t, st, "", "2026-02-20", "a")
	publishAll(t, p)
	appendTo(t, st, "", "2026-02-20", "b")
	appendTo(t, st, "", "2026-02-21", "c")

	after := fsys.Crash(crashfs.Lost, nil)
	_, p = open(t, after)
	publishAll(t, p)
	if a, b := ids(t, after, "logs/2026-02-20.json"), ids(t, after, "logs/2026-02-21.json"); a != "a b" || b != "c" {
		t.Errorf("published %q, %q", a, b)
	}
	if _, err := after.Lstat("quarantine"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("our own files were kept aside")
	}
}

func TestRemovedDay(t *testing.T) {
	for _, tt := range []struct {
		name    string
		edited  bool
		restart bool
		want    int // files in quarantine
	}{{"as published", false, false, 0}, {"as published, after a restart", false, true, 0}, {"edited by hand", true, false, 2}, {"edited by hand, after a restart", true, true, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := crashfs.New()
			st, p := open(t, fsys)
			appendTo(t, st, "work", "2026-02-20", "a")
			publishAll(t, p)
			const name = "spaces/work/logs/2026-02-20.json"
			if tt.edited {
				if err := durable.WriteFile(fsys, name, func(w io.Writer) error {
					_, err := io.WriteString(w, "mine")
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			remove(t, st, "work", "2026-02-20")
			if tt.restart {
				fsys = fsys.Crash(crashfs.Lost, nil)
				_, p = open(t, fsys)
			}
			publishAll(t, p)
			if got := ids(t, fsys, name); got != "none" {
				t.Errorf("still there: %s", got)
			}
			if kept, _ := fsys.ReadDir("quarantine"); len(kept) != tt.want {
				t.Errorf("quarantine holds %v", kept)
			}
		})
	}
}

// With somebody to take edits over, neither a changed log nor one whose day is gone is replaced or removed.
func TestForeignIsHeld(t *testing.T) {
	const name = "spaces/work/logs/2026-02-20.json"
	for _, gone := range []bool{false, true} {
		fsys := crashfs.New()
		var foreign []string
		p := dailylog.NewPublisher(dailylog.Config{
			FS: fsys, Now: now, Logger: slog.New(slog.DiscardHandler), OnEdit: func(name string) { foreign = append(foreign, name) },
		})
		st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: slog.New(slog.DiscardHandler), Projections: []store.Projection{p}})
		if err != nil {
			t.Fatal(err)
		}
		p.Attach(dailylog.FromStore(st))
		appendTo(t, st, "work", "2026-02-20", "a")
		publishAll(t, p)
		if err := durable.WriteFile(fsys, name, func(w io.Writer) error { _, err := io.WriteString(w, `{"date":"2026-02-20","entries":[]}`); return err }); err != nil {
			t.Fatal(err)
		}
		if gone {
			remove(t, st, "work", "2026-02-20")
		} else {
			appendTo(t, st, "work", "2026-02-20", "b")
		}
		publishAll(t, p)
		if got := ids(t, fsys, name); got != "" || strings.Join(foreign, " ") != name {
			t.Fatalf("gone=%v: published %q, told of %q", gone, got, foreign)
		}
		found, err := p.Files().Inspect(name)
		if err != nil || p.Files().Claim(name, found.Hash) != nil {
			t.Fatal(err)
		}
		p.Republish("logs/notes.json") // not a published name
		p.Republish(name)
		publishAll(t, p)
		if got, want := ids(t, fsys, name), map[bool]string{false: "a b", true: "none"}[gone]; got != want {
			t.Errorf("gone=%v: published %q, want %q", gone, got, want)
		}
		if _, err := fsys.Lstat("quarantine"); !errors.Is(err, fs.ErrNotExist) {
			t.Error("something was kept aside")
		}
	}
}

func remove(t *testing.T, st *store.Store, space, date string) {
	t.Helper()
	_, err := st.Update(t.Context(), store.Meta{Space: space, Actor: "archive"}, func(tx *store.Tx) error {
		day, entries, err := st.Space(space).Log(date)
		if err != nil {
			return err
		}
		return tx.RemoveDay(day, entries)
	})
	if err != nil {
		t.Fatal(err)
	}
}
