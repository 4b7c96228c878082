package jsonstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

func now() time.Time { return time.Date(2026, 2, 21, 12, 0, 0, 0, time.UTC) }

// open starts a store with a publisher of its memories.
func open(t testing.TB, fsys durable.FS) (*store.Store, *jsonstore.Publisher) {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	p := jsonstore.NewPublisher(jsonstore.Config{FS: fsys, Now: now, Logger: logger})
	st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: logger, Projections: []store.Projection{p}})
	if err != nil {
		t.Fatal(err)
	}
	p.Attach(jsonstore.FromStore(st))
	return st, p
}

func onBoth(t *testing.T, test func(t *testing.T, fsys durable.FS)) {
	t.Run("directory", func(t *testing.T) {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = root.Close() })
		test(t, durable.Dir(root))
	})
	t.Run("simulated", func(t *testing.T) { test(t, crashfs.New()) })
}

func put(t testing.TB, st *store.Store, space, id string, change func(*memory.Memory)) {
	t.Helper()
	_, err := st.Update(t.Context(), store.Meta{Space: space, Actor: journal.ActorClient}, func(tx *store.Tx) error {
		m := &memory.Memory{ID: id, Category: "facts", Content: "content of " + id, Salience: .5, Confidence: 1, Source: "user_explicit"}
		if change != nil {
			change(m)
		}
		return tx.Put(m)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func publishAll(t testing.TB, p *jsonstore.Publisher) {
	t.Helper()
	if err := p.PublishAll(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, fsys durable.FS, name, text string) {
	t.Helper()
	if dir, _, ok := cutLast(name); ok {
		if err := fsys.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	err := durable.WriteFile(fsys, name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func cutLast(name string) (dir, base string, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

func read(t testing.TB, fsys durable.FS, name string) *jsonstore.File {
	t.Helper()
	data, err := durable.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, data)
}

func ids(f *jsonstore.File) string {
	var list []string
	for _, m := range f.Memories {
		list = append(list, m.ID)
	}
	return strings.Join(list, " ")
}

func quarantine(t testing.TB, fsys durable.FS) (names []string) {
	t.Helper()
	entries, err := fsys.ReadDir("quarantine")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		torn := strings.HasPrefix(e.Name(), "torn-") // the journal's
		if !torn && !strings.HasSuffix(e.Name(), ".reason.txt") && !strings.HasSuffix(e.Name(), ".edit.json") {
			names = append(names, "quarantine/"+e.Name())
		}
	}
	return names
}

func TestPublish(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS) {
		st, p := open(t, fsys)
		put(t, st, "", "a", nil)
		put(t, st, "", "b", func(m *memory.Memory) { m.Status = memory.Retired })
		put(t, st, "work", "c", func(m *memory.Memory) { m.Content = "工作" })
		publishAll(t, p)
		put(t, st, "", "d", nil)
		_, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			tx.SetSummary("in short")
			tx.Forget("a secret")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		publishAll(t, p)

		f := read(t, fsys, "memory.json")
		if got := ids(f); got != "a d" || f.RollingSummary != "in short" || len(f.Forgotten) != 1 || f.Revision != st.Space("default").Revision() || !f.LastUpdated.Equal(now()) {
			t.Errorf("published %s, %+v", got, f)
		}
		if m, err := st.Space("default").Get("a"); err != nil || cmp.Diff(m, f.Memories[0]) != "" {
			t.Errorf("a memory (-store +file):\n%s", cmp.Diff(m, f.Memories[0]))
		}
		if got := ids(read(t, fsys, "memory.json.bak")); got != "a" {
			t.Errorf("the backup has %s", got)
		}
		if got := ids(read(t, fsys, "spaces/work/memory.json")); got != "c" {
			t.Errorf("space work has %s", got)
		}
		if names := quarantine(t, fsys); len(names) > 0 {
			t.Errorf("kept aside: %v", names)
		}
		if s := p.Status(); len(s) != 2 || s[0].Key != "default" || s[0].Revision != f.Revision || s[0].Bytes == 0 || s[0].Err != nil || s[0].Pending {
			t.Errorf("status %+v", s)
		}
	})
}

func TestNothingIsPublishedForNothing(t *testing.T) {
	fsys := crashfs.New()
	_, p := open(t, fsys)
	publishAll(t, p)
	if _, err := fsys.Lstat("memory.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty store published: %v", err)
	}
}

// Accesses alone are published too, later.
func TestTouchesArePublished(t *testing.T) {
	fsys := crashfs.New()
	st, p := open(t, fsys)
	put(t, st, "", "a", nil)
	publishAll(t, p)
	st.CountAccess("default", []string{"a"}, now())
	if err := st.FlushAccesses(t.Context()); err != nil {
		t.Fatal(err)
	}
	publishAll(t, p)
	if m := read(t, fsys, "memory.json").Memories[0]; m.AccessCount() != 1 || !m.LastAccessed().Equal(now()) {
		t.Errorf("published %+v", m)
	}
}

func TestHandEditIsKeptAside(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%v", restart), func(t *testing.T) {
			fsys := crashfs.New()
			st, p := open(t, fsys)
			put(t, st, "", "a", nil)
			publishAll(t, p)
			edited := `{"version":2,"memories":[{"id":"mine","content":"by hand"}]}`
			write(t, fsys, "memory.json", edited)
			if restart {
				fsys = fsys.Crash(crashfs.Kept, nil)
				st, p = open(t, fsys)
				publishAll(t, p)
				if got := ids(read(t, fsys, "memory.json")); got != "mine" {
					t.Fatalf("an edit was replaced without need, by %s", got)
				}
			}
			put(t, st, "", "b", nil)
			publishAll(t, p)
			put(t, st, "", "c", nil)
			publishAll(t, p)
			if got := ids(read(t, fsys, "memory.json")); got != "a b c" {
				t.Errorf("published %s", got)
			}
			names := quarantine(t, fsys)
			if len(names) != 1 {
				t.Fatalf("kept aside: %v", names)
			}
			if data, err := durable.ReadFile(fsys, names[0]); err != nil || string(data) != edited {
				t.Errorf("kept %q, %v", data, err)
			}
		})
	}
}

// With somebody to take edits over, a file that was changed waits for them; so do its unknown fields.
func TestForeignIsHeld(t *testing.T) {
	fsys := crashfs.New()
	logger := slog.New(slog.DiscardHandler)
	var foreign []string
	p := jsonstore.NewPublisher(jsonstore.Config{FS: fsys, Now: now, Logger: logger, OnEdit: func(name string) { foreign = append(foreign, name) }})
	st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: logger, Projections: []store.Projection{p}})
	if err != nil {
		t.Fatal(err)
	}
	p.Attach(jsonstore.FromStore(st))
	put(t, st, "work", "a", nil)
	publishAll(t, p)
	const name, edited = "spaces/work/memory.json", `{"version":2,"app":"theirs","memories":[{"id":"mine","content":"by hand"}]}`
	write(t, fsys, name, edited)
	put(t, st, "work", "b", nil)
	publishAll(t, p)
	if got := ids(read(t, fsys, name)); got != "mine" || !slices.Equal(foreign, []string{name}) {
		t.Fatalf("published %q, told of %q", got, foreign)
	}
	if s := p.Status(); len(s) != 1 || !s[0].Blocked || s[0].Err != nil {
		t.Errorf("status %+v", s)
	}
	found, err := p.Files().Inspect(name)
	if err != nil || found.Ours {
		t.Fatalf("found %+v, %v", found, err)
	}
	if err := p.Files().Claim(name, found.Hash); err != nil {
		t.Fatal(err)
	}
	p.RepublishEdited("memory.json.bak") // not a published name
	p.RepublishEdited(name)
	publishAll(t, p)
	if f := read(t, fsys, name); ids(f) != "a b" || string(f.Extra["app"]) != `"theirs"` {
		t.Errorf("published %s, %s", ids(f), f.Extra)
	}
	if s := p.Status(); len(s) != 1 || s[0].Blocked || s[0].Pending {
		t.Errorf("status %+v", s)
	}
	if names := quarantine(t, fsys); len(names) > 0 {
		t.Errorf("kept aside: %v", names)
	}
}

// What is displaced by a publication is announced.
func TestDisplacedIsAnnounced(t *testing.T) {
	fsys := crashfs.New()
	logger := slog.New(slog.DiscardHandler)
	var displaced []publish.Edit
	p := jsonstore.NewPublisher(jsonstore.Config{FS: fsys, Now: now, Logger: logger, OnDisplaced: func(e publish.Edit) { displaced = append(displaced, e) }})
	st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: logger, Projections: []store.Projection{p}})
	if err != nil {
		t.Fatal(err)
	}
	p.Attach(jsonstore.FromStore(st))
	for _, id := range []string{"a", "b", "c"} {
		put(t, st, "", id, nil)
		publishAll(t, p)
		write(t, fsys, "memory.json.bak", "written there "+id)
	}
	put(t, st, "", "d", nil)
	publishAll(t, p)
	var copies []string
	for _, e := range displaced {
		if e.File == "memory.json" && e.Kind == publish.Pending {
			data, _ := durable.ReadFile(fsys, e.Copy)
			copies = append(copies, string(data))
		}
	}
	if fmt.Sprint(copies) != "[written there b written there c]" { // the first was there before any backup
		t.Errorf("announced %q", copies)
	}
	if names := quarantine(t, fsys); len(names) != 3 {
		t.Errorf("kept aside: %v", names)
	}
}

// What other programs wrote about the file as a whole stays in it.
func TestUnknownFieldsOfTheFileStay(t *testing.T) {
	fsys := crashfs.New()
	write(t, fsys, "memory.json", `{"version":2,"app":{"theme": "dark"},"memories":[]}`)
	for i := range 3 {
		st, p := open(t, fsys)
		put(t, st, "", fmt.Sprint("m", i), nil)
		publishAll(t, p)
		fsys = fsys.Crash(crashfs.Lost, nil)
	}
	if got := string(read(t, fsys, "memory.json").Extra["app"]); got != `{"theme": "dark"}` {
		t.Errorf("app is %s", got)
	}
}

// Run publishes what it is told of while it runs, and ends with its context.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := crashfs.New()
		p := jsonstore.NewPublisher(jsonstore.Config{
			Source: fixed{many(3).Memories}, FS: fsys, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		time.Sleep(time.Second)
		first := read(t, fsys, "memory.json").LastUpdated
		p.Apply(&journal.Record{Space: "default", Changes: []journal.Change{{Entry: &journal.EntryChange{}}}})
		time.Sleep(time.Hour)
		if again := read(t, fsys, "memory.json").LastUpdated; again != first {
			t.Error("a log entry made the memories be published")
		}
		p.Apply(&journal.Record{Space: "default", Changes: []journal.Change{{Access: &journal.AccessChange{}}, {Memory: &journal.MemoryChange{}}}})
		time.Sleep(time.Second)
		if again := read(t, fsys, "memory.json").LastUpdated; !again.After(first) {
			t.Error("a change was not published")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestFullDisk(t *testing.T) {
	fsys := crashfs.New()
	st, p := open(t, fsys)
	put(t, st, "", "a", nil)
	publishAll(t, p)
	for i := range 50 {
		put(t, st, "", fmt.Sprint("b", i), func(m *memory.Memory) { m.Content = strings.Repeat("x", 1000) })
	}
	fsys.SetFree(10_000)
	if err := p.PublishAll(t.Context()); !durable.IsDiskFull(err) {
		t.Fatalf("got %v", err)
	}
	if got := ids(read(t, fsys, "memory.json")); got != "a" {
		t.Errorf("published %s", got)
	}
	fsys.SetFree(1 << 20)
	publishAll(t, p)
	if n := len(read(t, fsys, "memory.json").Memories); n != 51 {
		t.Errorf("published %d memories", n)
	}
	if names := quarantine(t, fsys); len(names) > 0 {
		t.Errorf("kept aside: %v", names)
	}
}

func BenchmarkPublish100k(b *testing.B) {
	root, err := os.OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	src := fixed{many(100_000).Memories}
	p := jsonstore.NewPublisher(jsonstore.Config{Source: src, FS: durable.Dir(root), Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	b.ReportAllocs()
	for b.Loop() {
		p.Apply(&journal.Record{Space: "default", Changes: []journal.Change{{Summary: &journal.SummaryChange{}}}})
		publishAll(b, p)
	}
}

// fixed is a source that does not change.
type fixed struct{ memories []*memory.Memory }

func (f fixed) Spaces() []string            { return []string{"default"} }
func (f fixed) Space(string) jsonstore.View { return f }
func (f fixed) Revision() int64             { return 1 }
func (f fixed) Contents() store.Contents {
	return store.Contents{Revision: 1, Memories: slices.Clone(f.memories)}
}
