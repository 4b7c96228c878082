package search_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

func newDir(tb testing.TB) durable.FS {
	tb.Helper()
	root, err := os.OpenRoot(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { root.Close() })
	return durable.Dir(root)
}

const indexFile = "index/default.keyword"

func overwrite(t *testing.T, fsys durable.FS, data []byte) {
	t.Helper()
	err := durable.WriteFile(fsys, indexFile, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		t.Fatal(err)
	}
}

// load loads memories and returns the engine and its log.
func load(t *testing.T, memories []*memory.Memory, fsys durable.FS) (*search.Engine, string) {
	t.Helper()
	var log bytes.Buffer
	e := search.New(search.Config{Logger: slog.New(
		slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err := e.Load("", memories, fsys); err != nil {
		t.Fatal(err)
	}
	return e, log.String()
}

func TestSaveLoad(t *testing.T) {
	memories := append(synthetic(50), mem("zh", "数据库迁移 E0308"), mem("empty", "的"))
	fsys := newDir(t)
	saved := loaded(t, memories)
	if err := saved.Save(fsys); err != nil {
		t.Fatal(err)
	}
	got, log := load(t, memories, fsys)
	if !strings.Contains(log, "indexed=0") {
		t.Errorf("something was indexed anew: %s", log)
	}
	if diff := cmp.Diff(saved.Postings(""), got.Postings("")); diff != "" {
		t.Errorf("postings (-saved +loaded):\n%s", diff)
	}
	req := search.Request{Query: memories[7].Content[:60], AsOf: epoch, Explain: true}
	if diff := cmp.Diff(find(t, saved, req), find(t, got, req)); diff != "" {
		t.Errorf("search (-saved +loaded):\n%s", diff)
	}
}

func TestSaveWritesOnlyChanges(t *testing.T) {
	fsys := newDir(t)
	e := inDefault(mem("a", "redis"))
	for i, change := range []struct {
		name  string
		do    func()
		write bool
	}{
		{"first", func() {}, true},
		{"nothing", func() {}, false},
		{"touch", func() {
			e.Apply(record(8, "", journal.Change{Access: &journal.AccessChange{ID: "a", Count: 1, At: epoch}}))
		}, false},
		{"revision", func() {
			m := mem("a", "redis")
			e.Apply(record(9, "", journal.Change{Memory: &journal.MemoryChange{ID: "a", After: m}}))
		}, true},
		{"removal", func() { e.Apply(record(10, "", journal.Change{Memory: &journal.MemoryChange{ID: "a"}})) }, true},
	} {
		change.do()
		if i > 0 {
			if err := fsys.Remove(indexFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		if err := e.Save(fsys); err != nil {
			t.Fatal(err)
		}
		if _, err := fsys.Lstat(indexFile); (err == nil) != change.write {
			t.Errorf("%s: written %v, want %v", change.name, err == nil, change.write)
		}
	}
}

// TestFirstAdditionsCopyNothing: what is loaded has room for more, or the first additions after a start would copy all
// lists and tables.
func TestFirstAdditionsCopyNothing(t *testing.T) {
	const count, most = 20_000, 1200 << 10 // bytes for 20 memories; the tables and lists take millions
	all := make([]*memory.Memory, count+21)
	for i := range all {
		all[i] = mem(fmt.Sprint("m", i), fmt.Sprintf("redis holds locks while the nightly backup of item_%d copies tables", i))
	}
	fsys := newDir(t)
	if err := loaded(t, all[:count]).Save(fsys); err != nil {
		t.Fatal(err)
	}
	e, _ := load(t, all[:count], fsys)
	if err := e.Load("other", all[count:count+1], fsys); err != nil { // which makes the buffers of the analyser
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, m := range all[count+1:] {
		e.Apply(record(int64(count+2+i), "", journal.Change{Memory: &journal.MemoryChange{ID: m.ID, After: m}}))
	}
	e.EmbeddingCoverage("") // returns when they are indexed
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > most {
		t.Errorf("%d bytes were allocated, want %d at most", got, most)
	}
}

// TestSaveHoldsLittle: the file of a large index, which has more than a hundred megabytes, is never in the heap whole.
func TestSaveHoldsLittle(t *testing.T) {
	fsys := newDir(t)
	e := loaded(t, synthetic(20_000))
	e.EmbeddingCoverage("") // returns when they are indexed
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := e.Save(fsys); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	info, err := fsys.Lstat(indexFile)
	if err != nil {
		t.Fatal(err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > uint64(info.Size()/3) {
		t.Errorf("%d bytes were allocated for a file of %d", got, info.Size())
	}
}

// TestSaveGrown: while the daemon runs, an index is written anew when a fourth of it changed, not for every few
// changes.
func TestSaveGrown(t *testing.T) {
	fsys := newDir(t)
	e := loaded(t, synthetic(100))
	lsn, written := int64(1000), 0
	for range 100 {
		lsn++
		id := fmt.Sprint("later", lsn)
		e.Apply(record(lsn, "", journal.Change{Memory: &journal.MemoryChange{ID: id, After: mem(id, "redis holds locks")}}))
		if err := e.SaveGrown(fsys); err != nil {
			t.Fatal(err)
		}
		if err := fsys.Remove(indexFile); err == nil {
			written++
		}
	}
	if written != 3 { // what was loaded, then a fourth of 135, then of 180
		t.Errorf("100 memories were added to 100, and the index was written %d times", written)
	}
	if err := e.Save(fsys); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Lstat(indexFile); err != nil {
		t.Errorf("Save leaves out what changed: %v", err)
	}
}

// TestSaveGrownAfterLoad: an index that came from its file is not written anew for one change.
func TestSaveGrownAfterLoad(t *testing.T) {
	fsys, memories := newDir(t), synthetic(100)
	if err := loaded(t, memories).Save(fsys); err != nil {
		t.Fatal(err)
	}
	e, _ := load(t, memories, fsys)
	change := func(lsn int64) {
		t.Helper()
		id := fmt.Sprint("later", lsn)
		e.Apply(record(lsn, "", journal.Change{Memory: &journal.MemoryChange{ID: id, After: mem(id, "redis holds locks")}}))
		if err := e.SaveGrown(fsys); err != nil {
			t.Fatal(err)
		}
	}
	if err := fsys.Remove(indexFile); err != nil {
		t.Fatal(err)
	}
	lsn := int64(1000)
	change(lsn)
	if _, err := fsys.Lstat(indexFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one change of 100 memories wrote the index: %v", err)
	}
	for range 40 {
		lsn++
		change(lsn)
	}
	if _, err := fsys.Lstat(indexFile); err != nil {
		t.Errorf("41 changes did not: %v", err)
	}
}

// TestLoadAdoptsOnlyWhatMatches: other revisions, other texts and removed memories of the file are not believed.
func TestLoadAdoptsOnlyWhatMatches(t *testing.T) {
	revision := func(n int64) func(*memory.Memory) { return func(m *memory.Memory) { m.Revision = n } }
	fsys := newDir(t)
	before := inDefault(
		mem("same", "redis holds sessions", revision(1)), mem("revised", "redis holds queues", revision(2)),
		mem("edited", "redis holds locks", revision(3)), mem("removed", "redis holds secrets", revision(4)),
	)
	if err := before.Save(fsys); err != nil {
		t.Fatal(err)
	}
	now := []*memory.Memory{
		mem("same", "redis holds sessions", revision(1)), mem("revised", "valkey holds queues", revision(9)),
		mem("edited", "valkey holds locks", revision(3)), mem("new", "redis is old", revision(10)),
	}
	got, log := load(t, now, fsys)
	if !strings.Contains(log, "indexed=3") {
		t.Errorf("want three indexed anew: %s", log)
	}
	if diff := cmp.Diff(inDefault(now...).Postings(""), got.Postings("")); diff != "" {
		t.Errorf("postings (-rebuilt +loaded):\n%s", diff)
	}
	got.Apply(record(11, "", journal.Change{Memory: &journal.MemoryChange{ID: "x", After: mem("x", "valkey again")}}))
	if diff := cmp.Diff(inDefault(append(now, mem("x", "valkey again"))...).Postings(""),
		got.Postings("")); diff != "" {
		t.Errorf("postings after a change (-rebuilt +loaded):\n%s", diff)
	}
}

func TestLoadSurvivesAnyDamage(t *testing.T) {
	memories := []*memory.Memory{mem("a", "redis holds sessions"), mem("b", "数据库迁移")}
	fsys := newDir(t)
	e := inDefault(memories...)
	if err := e.Save(fsys); err != nil {
		t.Fatal(err)
	}
	sound, err := durable.ReadFile(fsys, indexFile)
	if err != nil {
		t.Fatal(err)
	}
	want := e.Postings("")
	check := func(name string, data []byte) {
		overwrite(t, fsys, data)
		got, log := load(t, memories, fsys)
		if diff := cmp.Diff(want, got.Postings("")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if !strings.Contains(log, "is rebuilt") {
			t.Errorf("%s is not in the log: %s", name, log)
		}
		if strings.Contains(log, "redis") {
			t.Errorf("%s: memory text in the log", name)
		}
		if err := got.Save(fsys); err != nil {
			t.Fatal(err)
		}
		if data, err := durable.ReadFile(fsys, indexFile); err != nil || search.DecodeIndex(data) != nil {
			t.Errorf("%s: Save did not replace the damaged file: %v", name, err)
		}
	}
	for i := range sound {
		if memtest.SkipSample(i, 5) {
			continue
		}
		flipped := bytes.Clone(sound)
		flipped[i] ^= 0x40
		check(fmt.Sprintf("bit flip at %d", i), flipped)
	}
	for i := 0; i < len(sound); i += 7 {
		check(fmt.Sprintf("cut at %d", i), sound[:i])
	}
	check("other bytes", []byte("{}"))
}

// TestApplyDuringLoad applies from inside the read of the index file, which is as much "during" as can be.
func TestApplyDuringLoad(t *testing.T) {
	e := search.New(search.Config{})
	memories := []*memory.Memory{
		mem("kept", "redis one", func(m *memory.Memory) { m.Revision = 1 }),
		mem("gone", "redis two", func(m *memory.Memory) { m.Revision = 2 }),
		mem("newer", "redis three in its newest form", func(m *memory.Memory) { m.Revision = 9 }),
		mem("touched", "redis four", func(m *memory.Memory) { m.Revision = 3 }),
	}
	fsys := interrupting{newDir(t), func() {
		e.Apply(record(5, "", journal.Change{
			Memory: &journal.MemoryChange{ID: "newer", After: mem("newer", "an older form")}}))
		e.Apply(record(10, "", journal.Change{
			Memory: &journal.MemoryChange{ID: "added", After: mem("added", "redis five")}},
			journal.Change{Memory: &journal.MemoryChange{ID: "gone"}},
			journal.Change{Access: &journal.AccessChange{ID: "touched", Count: 4, At: epoch}}))
	}}
	if err := e.Load("", memories, fsys); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, h := range find(t, e, search.Request{Query: "redis", AsOf: epoch}).Hits {
		got[h.Memory.ID] = h.Memory.AccessCount()
	}
	want := map[string]int64{"kept": 0, "newer": 0, "touched": 4, "added": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("access counts (-want +got):\n%s", diff)
	}
}

type interrupting struct {
	durable.FS
	do func()
}

func (i interrupting) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	i.do()
	return i.FS.OpenFile(name, flag, perm)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("MSKW"))
	f.Add(inDefault(mem("a", "redis holds 数据库"), mem("b", "redis")).EncodeIndex(""))
	f.Add(inDefault(mem("a", "的")).EncodeIndex(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := search.DecodeIndex(data); err == nil {
			return
		}
		// The checksum keeps most inputs out; with a right one, the rest of the decoder is reached.
		_ = search.DecodeIndex(search.WithChecksum(data))
	})
}
