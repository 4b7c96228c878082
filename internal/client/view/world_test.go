package view_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/client/view"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// tester is what *testing.T and *rapid.T have in common.
// dirOf is a directory on the disk.
func dirOf(root *os.Root) durable.FS { return durable.Dir(root) }

type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Context() context.Context
}

// world is a store and a directory that is a view of it.
type world struct {
	t      tester
	clock  *memtest.Clock
	store  *store.Store
	svc    *memorysvc.Service
	dir    string
	fs     durable.FS
	format view.Format
	view   *view.Syncer
	epoch  string
	signal chan struct{} // told of every change
	before func()        // called before changes are applied
}

func open(t *testing.T, format view.Format) *world {
	t.Helper()
	return openIn(t, t, format, tempDir(t))
}

func openIn(t tester, tb testing.TB, format view.Format, dir string) *world {
	w := &world{t: t, clock: &memtest.Clock{}, dir: dir, format: format, signal: make(chan struct{}, 1), epoch: "e1"}
	st, err := store.Open(store.Config{FS: crashfs.New(), Now: w.clock.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	tb.Cleanup(func() { _ = st.Close(context.Background()) })
	w.store, w.svc = st, memorysvc.New(st, w.clock.Now)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatalf("open the directory: %v", err)
	}
	tb.Cleanup(func() { _ = root.Close() })
	w.fs = unsynced{durable.Dir(root)}
	w.restart()
	return w
}

// restart is a new process that knows only what is on the disk.
func (w *world) restart() {
	w.view = view.New(view.Config{Store: w, FS: w.fs, Format: w.format, Space: "default", Now: w.clock.Now,
		Logger: slog.New(slog.DiscardHandler), Path: w.dir})
}

func (w *world) Snapshot(context.Context, bool) (*view.Snapshot, error) {
	s := &view.Snapshot{Store: w.store.Origin(), Epoch: w.epoch}
	space := w.store.Space("default")
	for _, m := range space.Memories() {
		if m.IsActive() && !m.Expired(w.clock.Now()) {
			s.Memories = append(s.Memories, m)
		}
	}
	for _, d := range slices.Backward(space.Days()) {
		_, entries, err := space.Log(d.Date)
		if err != nil {
			return nil, err
		}
		s.Days = append(s.Days, view.Day{Date: d.Date, Entries: entries})
	}
	slices.SortFunc(s.Days, func(a, b view.Day) int { return strings.Compare(a.Date, b.Date) })
	return s, nil
}

func (w *world) Apply(ctx context.Context, reason string, changes []view.Change) (string, []view.Outcome, error) {
	if w.before != nil {
		hook := w.before
		w.before = nil
		hook()
	}
	steps := make([]memorysvc.Step, len(changes))
	for i, c := range changes {
		switch c.Kind {
		case view.Add:
			steps[i].Draft = &memorysvc.Draft{Memory: c.Memory.Clone()}
		case view.Update:
			steps[i] = memorysvc.Step{ID: c.ID, Expected: c.Revision, Patch: &memorysvc.Patch{
				Title: c.Title, Description: c.Description, Category: c.Category, Content: c.Content, Tags: c.Tags,
			}}
		case view.Remove:
			steps[i] = memorysvc.Step{ID: c.ID, Expected: c.Revision}
		}
	}
	res, err := w.svc.Apply(ctx, store.Meta{Actor: journal.ActorView, Reason: reason}, steps)
	if err != nil {
		return "", nil, err
	}
	out := make([]view.Outcome, len(res.Outcomes))
	for i, o := range res.Outcomes {
		out[i] = view.Outcome{ID: o.ID, Applied: o.Status == journal.Applied || o.Status == journal.Duplicate &&
			changes[i].Kind != view.Add, Reason: o.Reason}
	}
	return operationID(res.Op), out, nil
}

func (w *world) Append(ctx context.Context, key string, e memory.Entry) (string, string, error) {
	w.clock.Advance(time.Second) // a request that is repeated is the same all the same
	request, err := json.Marshal(e)
	if err != nil {
		return "", "", err
	}
	res, err := w.svc.AppendLog(ctx, store.Meta{Key: key, Request: request}, []*memory.Entry{&e}, false)
	if err != nil {
		return "", "", err
	}
	return operationID(res.Op), res.Outcomes[0].ID, nil
}

func (w *world) Watch(ctx context.Context, changed func()) error {
	changed()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.signal:
			changed()
		}
	}
}

func (w *world) add(id, category, content string) {
	w.t.Helper()
	w.put(&memory.Memory{ID: id, Category: category, Content: content})
}

func (w *world) put(m *memory.Memory) {
	w.t.Helper()
	m.Source, m.Salience, m.Confidence = memory.SourceUser, memory.DefaultSalience, 1
	w.update(func(tx *store.Tx) error { return tx.Put(m) })
}

func (w *world) update(f func(*store.Tx) error) {
	w.t.Helper()
	if _, err := w.store.Update(context.Background(), store.Meta{Space: "default", Actor: journal.ActorClient},
		f); err != nil {
		w.t.Fatalf("change the store: %v", err)
	}
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

func (w *world) set(id, content string) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		c := tx.Memory(id).Clone()
		c.Content = content
		return tx.Put(c)
	})
}

func (w *world) retire(id string) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		c := tx.Memory(id).Clone()
		c.Status = memory.Retired
		return tx.Put(c)
	})
}

func (w *world) log(text string) {
	w.t.Helper()
	if _, err := w.svc.AppendLog(context.Background(), store.Meta{},
		[]*memory.Entry{{Type: memory.EntryEvent, Content: text}}, false); err != nil {
		w.t.Fatalf("append to the log: %v", err)
	}
}

// sync is a round that must succeed.
func (w *world) sync(opts ...view.Options) view.Report {
	w.t.Helper()
	var o view.Options
	if len(opts) > 0 {
		o = opts[0]
	}
	r, err := w.view.Sync(context.Background(), o)
	if err != nil {
		w.t.Fatalf("sync: %v", err)
	}
	return r
}

// settled is the state after a round, and checks that another one has nothing to do.
func (w *world) settled(opts ...view.Options) view.Report {
	w.t.Helper()
	r := w.sync(opts...)
	for range 3 { // what was changed on both sides takes another round
		if r.Again.IsZero() {
			break
		}
		r = w.sync()
	}
	before, files := w.store.LSN(), w.tree()
	if next := w.sync(); len(next.Adopted)+len(next.Written)+len(next.Removed)+len(next.Operations) > 0 {
		w.t.Fatalf("a round without a reason did something: %+v", next)
	}
	if after := w.store.LSN(); after != before {
		w.t.Fatalf("a round without a reason wrote to the store: position %d, then %d", before, after)
	}
	for name, data := range w.tree() {
		if files[name] != data {
			w.t.Fatalf("a round without a reason wrote %s", name)
		}
	}
	return r
}

// tree is every visible file.
func (w *world) tree() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(w.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == view.Dir {
				return filepath.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(w.dir, path)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		w.t.Fatalf("read the view: %v", err)
	}
	return out
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return string(data)
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(w.dir, name)), 0o700); err != nil {
		w.t.Fatalf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatalf("%v", err)
	}
}

// over replaces a file as editors do: by another one that gets its name.
func (w *world) over(name, text string) {
	w.t.Helper()
	w.write(name+"~", text)
	if err := os.Rename(filepath.Join(w.dir, name+"~"), filepath.Join(w.dir, name)); err != nil {
		w.t.Fatalf("%v", err)
	}
}

// touch makes a file one that was changed just now by the clock of the test.
func (w *world) touch(name string) {
	w.t.Helper()
	if err := os.Chtimes(filepath.Join(w.dir, name), w.clock.Now(), w.clock.Now()); err != nil {
		w.t.Fatalf("%v", err)
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatalf("%v", err)
	}
}

// replaced is the file with some words replaced, which must be there.
func (w *world) replaced(name, from, to string) string {
	w.t.Helper()
	text := w.read(name)
	if !strings.Contains(text, from) {
		w.t.Fatalf("%s does not hold %q:\n%s", name, from, text)
	}
	return strings.Replace(text, from, to, 1)
}

// contents lists what the active memories say, sorted.
func (w *world) contents() []string {
	out := []string{}
	for _, m := range w.store.Space("default").Memories() {
		if m.IsActive() {
			out = append(out, m.Category+": "+m.Content)
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) memory(id string) *memory.Memory {
	w.t.Helper()
	m, err := w.store.Space("default").Get(id)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return m
}

// operationID is the id of an operation in these tests; "" if nothing changed.
func operationID(number int64) string {
	if number == 0 {
		return ""
	}
	return strconv.FormatInt(number, 10)
}

func (w *world) undo(id string) {
	w.t.Helper()
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		w.t.Fatalf("operation id %q: %v", id, err)
	}
	if _, err := w.store.Undo(context.Background(), store.Meta{}, number); err != nil {
		w.t.Fatalf("undo %s: %v", id, err)
	}
}

// fileOf finds the file that holds some words.
func (w *world) fileOf(words string) string {
	w.t.Helper()
	for name, text := range w.tree() {
		entries := w.format == view.Claude || w.format == view.Vibe
		if strings.HasSuffix(name, ".md") && strings.Contains(text, words) && !(entries && name == "MEMORY.md") {
			return name
		}
	}
	w.t.Fatalf("no file holds %q: %s", words, fmt.Sprint(w.tree()))
	return ""
}

// unsynced is a directory on the disk that need not survive the machine.
type unsynced struct{ durable.FS }

func (u unsynced) SyncDir(string) error { return nil }

func (u unsynced) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error     { return nil }
func (unsyncedFile) Datasync() error { return nil }

// tempDir is a directory in memory where there is one: a disk makes every replacement of a file wait.
func tempDir(t testing.TB) string {
	t.Helper()
	if info, err := os.Stat("/dev/shm"); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "memsidecar-view-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
