package reconcile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/reconcile"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// fataler is a testing.TB or a rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// world is a data directory with all that works on it but the daemon around.
type world struct {
	t     fataler
	fs    durable.FS
	dir   string // "" when fs is simulated
	clock *memtest.Clock
	store *store.Store
	mem   *jsonstore.Publisher
	logs  *dailylog.Publisher
	edits *reconcile.Service
	// received says that the spaces are shared read-only.
	received bool
}

// newWorld is one on a simulated file system.
func newWorld(t *testing.T) *world {
	w := &world{t: t, fs: crashfs.New(), clock: &memtest.Clock{}}
	must(t, w.open())
	return w
}

// onDisk is a world on the disk.
func onDisk(t *testing.T) *world {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	w := &world{t: t, fs: durable.Dir(root), dir: dir, clock: &memtest.Clock{}}
	w.clock.Advance(300 * 24 * time.Hour) // behind what the file system takes for now
	must(t, w.open())
	return w
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open starts everything as the daemon does, but for the first look.
func (w *world) open() error {
	if err := publish.Recover(w.fs); err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	foreign := func(name string) { w.edits.FileChanged(name) }
	displaced := func(e publish.Edit) { w.edits.EditQuarantined(e) }
	w.mem = jsonstore.NewPublisher(jsonstore.Config{FS: w.fs, Now: w.clock.Now, Logger: quiet, OnEdit: foreign, OnDisplaced: displaced})
	w.logs = dailylog.NewPublisher(dailylog.Config{FS: w.fs, Now: w.clock.Now, Logger: quiet, OnEdit: foreign, OnDisplaced: displaced})
	st, err := store.Open(store.Config{FS: w.fs, Now: w.clock.Now, Logger: quiet, Projections: []store.Projection{w.mem, w.logs},
		ReadOnly: func(string) bool { return w.received }})
	if err != nil {
		return err
	}
	w.store = st
	w.mem.Attach(jsonstore.FromStore(st))
	w.logs.Attach(dailylog.FromStore(st))
	w.edits = reconcile.New(reconcile.Config{
		Store: st, FS: w.fs, Memories: w.mem, Logs: w.logs, Now: w.clock.Now, Location: time.UTC, Logger: quiet,
	})
	return nil
}

func (w *world) restart() {
	w.t.Helper()
	must(w.t, w.store.Close(w.t.Context()))
	must(w.t, w.open())
}

func (w *world) update(fn func(tx *store.Tx) error) int64 {
	w.t.Helper()
	return w.updateIn("", fn)
}

func (w *world) updateIn(space string, fn func(tx *store.Tx) error) int64 {
	w.t.Helper()
	w.clock.Advance(time.Second)
	res, err := w.store.Update(w.t.Context(), store.Meta{Space: space, Actor: journal.ActorClient}, fn)
	must(w.t, err)
	return res.Op
}

func (w *world) add(id, content string) int64 {
	w.t.Helper()
	return w.update(func(tx *store.Tx) error { return tx.Put(memtest.Fact(id, content)) })
}

func (w *world) change(id string, fn func(m *memory.Memory)) int64 {
	w.t.Helper()
	return w.update(func(tx *store.Tx) error {
		m := tx.Memory(id).Clone()
		fn(m)
		return tx.Put(m)
	})
}

func (w *world) retire(id string) {
	w.t.Helper()
	w.change(id, func(m *memory.Memory) { m.Status = memory.Retired })
}

const day = "2026-02-21"

func (w *world) log(date, id, content string) int64 {
	w.t.Helper()
	return w.update(func(tx *store.Tx) error {
		return tx.AppendEntry(date, logEntry(date, id, content))
	})
}

func logEntry(date, id, content string) *memory.Entry {
	at, err := time.Parse(time.DateTime, date+" 10:00:00")
	if err != nil {
		panic(err)
	}
	return &memory.Entry{ID: id, Time: "10:00:00", At: at, Type: memory.EntryEvent, Content: content}
}

func (w *world) publish() {
	w.t.Helper()
	must(w.t, w.mem.PublishAll(w.t.Context()))
	must(w.t, w.logs.PublishAll(w.t.Context()))
}

func (w *world) look() {
	w.t.Helper()
	_, err := w.edits.Scan(w.t.Context(), false)
	must(w.t, err)
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := durable.ReadFile(w.fs, name)
	must(w.t, err)
	return string(data)
}

func (w *world) write(name, text string) {
	w.t.Helper()
	must(w.t, writeFile(w.fs, name, text))
}

func writeFile(fsys durable.FS, name, text string) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write([]byte(text)); err != nil {
		return err
	}
	return f.Close()
}

// replace edits a file as a person does.
func (w *world) replace(name string, pairs ...string) {
	w.t.Helper()
	text := w.read(name)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			w.t.Fatalf("%s does not hold %q:\n%s", name, pairs[i], text)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	w.write(name, text)
}

// rewrite edits a file as a program does.
func (w *world) rewrite(name string, fn func(doc map[string]any)) {
	w.t.Helper()
	w.write(name, rewritten(w.t, w.read(name), fn))
}

func rewritten(t fataler, text string, fn func(doc map[string]any)) string {
	t.Helper()
	var doc map[string]any
	must(t, json.Unmarshal([]byte(text), &doc))
	fn(doc)
	data, err := json.MarshalIndent(doc, "", "  ")
	must(t, err)
	return string(data)
}

func memoriesOf(doc map[string]any) []map[string]any {
	var out []map[string]any
	for _, m := range doc["memories"].([]any) {
		out = append(out, m.(map[string]any))
	}
	return out
}

func without(doc map[string]any, list string, ids ...string) {
	doc[list] = slices.DeleteFunc(doc[list].([]any), func(v any) bool {
		return slices.Contains(ids, v.(map[string]any)["id"].(string))
	})
}

// state describes the store, without what every change sets.
func (w *world) state() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, space := range w.store.Spaces() {
		v := w.store.Space(space)
		for _, m := range v.Memories() {
			c := *m
			c.Revision, c.UpdatedAt = 0, time.Time{}
			c.SetAccesses(0, time.Time{})
			out[space+" memory "+m.ID] = asJSON(c)
		}
		if s := v.Summary(); s != "" {
			out[space+" summary"] = s
		}
		for hash := range v.Forgotten() {
			out[space+" forgotten "+hash] = "yes"
		}
		for _, d := range v.Days() {
			header, entries, err := v.Log(d.Date)
			must(w.t, err)
			h := *header
			h.Revision = 0
			out[space+" day "+d.Date] = asJSON(h)
			for _, e := range entries {
				out[space+" entry "+d.Date+" "+e.ID] = asJSON(e)
			}
		}
	}
	return out
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// brief is what the tables look at: one line a thing.
func (w *world) brief() []string {
	w.t.Helper()
	var out []string
	for _, space := range w.store.Spaces() {
		v, prefix := w.store.Space(space), ""
		if space != memory.DefaultSpace {
			prefix = space + "/"
		}
		for _, m := range v.Memories() {
			var line strings.Builder
			line.WriteString(prefix + m.ID + ": " + m.Content)
			if len(m.Tags) > 0 {
				line.WriteString(" #" + strings.Join(m.Tags, "#"))
			}
			if m.Title != "" {
				line.WriteString(" <" + m.Title + ">")
			}
			if !m.IsActive() {
				line.WriteString(" (" + string(m.Status) + ")")
			}
			for _, name := range sortedKeys(m.Extra()) {
				line.WriteString(" " + name + "=" + string(m.Extra()[name]))
			}
			out = append(out, line.String())
		}
		if s := v.Summary(); s != "" {
			out = append(out, prefix+"summary: "+s)
		}
		for _, d := range v.Days() {
			_, entries, err := v.Log(d.Date)
			must(w.t, err)
			var line strings.Builder
			line.WriteString(prefix + d.Date + ":")
			for _, e := range entries {
				line.WriteString(" " + e.ID + "=" + e.Content)
			}
			if d.Summary != "" {
				line.WriteString(" (" + d.Summary + ")")
			}
			out = append(out, line.String())
		}
	}
	slices.Sort(out)
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// ops lists the operations by actor edit: number and reason.
func (w *world) ops() (numbers []int64, reasons []string) {
	w.t.Helper()
	for rec, err := range w.store.Operations(w.t.Context(), 1, math.MaxInt64) {
		must(w.t, err)
		if store.Significant(rec) && rec.Actor == journal.ActorEdit {
			numbers, reasons = append(numbers, rec.Op), append(reasons, rec.Reason)
		}
	}
	return numbers, reasons
}

// open lists the edits that wait: kind and details.
func (w *world) waiting() []string {
	w.t.Helper()
	list, err := w.edits.List()
	must(w.t, err)
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprintf("%s %s: %s", e.Kind, e.File, strings.Join(e.Details, "; ")))
		data, err := durable.ReadFile(w.fs, e.Copy)
		must(w.t, err)
		if len(data) == 0 && e.Kind != publish.Refused {
			w.t.Fatalf("%s is empty", e.Copy)
		}
	}
	return out
}

func diff(t fataler, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// published requires that every file holds what the store holds, and nothing else is there.
func (w *world) published() {
	w.t.Helper()
	for _, space := range w.store.Spaces() {
		v := w.store.Space(space)
		if v.Revision() > 0 {
			f, err := jsonstore.Decode([]byte(w.read(jsonstore.Path(space))), time.UTC)
			must(w.t, err)
			var want, got []string
			for _, m := range v.Memories() {
				if m.IsActive() {
					want = append(want, m.ID+": "+m.Content)
				}
			}
			for _, m := range f.Memories {
				got = append(got, m.ID+": "+m.Content)
			}
			diff(w.t, jsonstore.Path(space), want, got)
			if f.RollingSummary != v.Summary() || f.Revision != v.Revision() || len(f.Forgotten) != len(v.Forgotten()) {
				w.t.Fatalf("%s does not hold the present state", jsonstore.Path(space))
			}
		}
		var dates []string
		for _, d := range v.Days() {
			f, err := dailylog.Decode([]byte(w.read(dailylog.Path(space, d.Date))), time.UTC)
			must(w.t, err)
			_, entries, err := v.Log(d.Date)
			must(w.t, err)
			diff(w.t, d.Date, asJSON(append([]*memory.Entry{}, entries...)), asJSON(append([]*memory.Entry{}, f.Entries...)))
			dates = append(dates, d.Date+".json")
		}
		files, _ := w.fs.ReadDir(dailylog.Dir(space))
		var names []string
		for _, f := range files {
			names = append(names, f.Name())
		}
		diff(w.t, "logs", dates, names)
	}
}

// finish requires, of an edit that was taken over as one operation, that the files follow, that looking again
// changes nothing, also after a restart, and that undo brings back the state from before.
func (w *world) finish(before map[string]string, ops int) {
	w.t.Helper()
	numbers, _ := w.ops()
	if len(numbers) != ops {
		w.t.Fatalf("%d operations by edit, want %d", len(numbers), ops)
	}
	w.publish()
	w.published()
	after, waiting, lsn := w.state(), w.waiting(), w.store.LSN()
	for _, again := range []func(){w.look, w.restart, w.look, w.publish, w.look} {
		again()
		if w.store.LSN() != lsn {
			w.t.Fatalf("looking again wrote operation %d behind %d", w.store.LSN(), lsn)
		}
		diff(w.t, "state after looking again", after, w.state())
		diff(w.t, "edits after looking again", waiting, w.waiting())
	}
	w.published()
	if ops == 0 {
		return
	}
	_, err := w.store.Undo(w.t.Context(), store.Meta{}, numbers[ops-1])
	must(w.t, err)
	diff(w.t, "state after undo", before, w.state())
	w.publish()
	w.look()
	w.published()
	diff(w.t, "state after undo and a look", before, w.state())
}

// raw is the content of memory.json in which a program wrote all fields it knows, and no others.
func old(t fataler, text string, fn func(doc map[string]any)) string {
	t.Helper()
	return rewritten(t, text, func(doc map[string]any) {
		for _, name := range sortedKeys(doc) {
			if !slices.Contains([]string{"version", "last_updated", "rolling_summary", "memories", "date", "entries", "summary", "archived"}, name) {
				delete(doc, name)
			}
		}
		for _, list := range []string{"memories", "entries"} {
			items, _ := doc[list].([]any)
			for _, item := range items {
				m := item.(map[string]any)
				for _, name := range sortedKeys(m) {
					if !slices.Contains([]string{
						"category", "content", "salience", "created_at", "last_accessed", "access_count", "source", "context", "time", "type", "tool", "error",
					}, name) && !(name == "id" && list == "memories") {
						delete(m, name)
					}
				}
			}
		}
		fn(doc)
	})
}

func chtimes(name string, at time.Time) error { return os.Chtimes(name, at, at) }

// records lists all records: kind and how they were resolved.
func (w *world) records() []string {
	w.t.Helper()
	list, err := publish.Edits(w.fs)
	must(w.t, err)
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimSpace(string(e.Kind)+" "+e.Resolved))
	}
	return out
}
