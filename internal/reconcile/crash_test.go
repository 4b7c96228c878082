package reconcile_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// edited is a data directory in which, while nothing ran, edits of every kind were made: one that is taken over
// with a conflict, one of a log, a log made by hand, a deleted log, a file that cannot be read, an emptied one, and
// one that a crash left beside the file.
func edited(t *testing.T) *crashfs.FS {
	sim := crashfs.New()
	w := &world{t: t, fs: sim, clock: &memtest.Clock{}}
	must(t, w.open())
	w.three()
	w.twoDays()
	for i := range 2 {
		w.updateIn(
			"work",
			func(tx *store.Tx) error { return tx.Put(memtest.Fact(fmt.Sprint("w", i), fmt.Sprint("work ", i))) },
		)
		w.updateIn(
			"home",
			func(tx *store.Tx) error { return tx.Put(memtest.Fact(fmt.Sprint("h", i), fmt.Sprint("home ", i))) },
		)
		w.updateIn(
			"play",
			func(tx *store.Tx) error { return tx.Put(memtest.Fact(fmt.Sprint("p", i), fmt.Sprint("play ", i))) },
		)
	}
	w.publish()
	stale := rewritten(t, w.read(file), func(doc map[string]any) {
		without(doc, "memories", "b")
		memoriesOf(doc)[0]["content"], memoriesOf(doc)[1]["content"] = "The API listens on port 9443", "Commits are tiny"
		doc["memories"] = append(
			doc["memories"].([]any),
			map[string]any{"content": "Uses vim"},
			map[string]any{"content": "token ghp_abcdefghijklmnopqrstuvwxyz0123456789"},
		)
		doc["rolling_summary"] = "Writes Rust"
	})
	w.retire("c")
	w.publish()
	must(t, w.store.Close(t.Context()))
	for name, text := range map[string]string{
		file:                      stale,
		logName:                   strings.Replace(w.read(logName), "moved the", "moved a", 1),
		"logs/2026-02-22.json":    `{"date": "2026-02-22", "entries": [{"time": "09:00", "content": "by hand"}]}`,
		"spaces/work/memory.json": rewritten(t, w.read("spaces/work/memory.json"), func(doc map[string]any) { doc["memories"] = []any{} }),
		"spaces/home/memory.json": w.read("spaces/home/memory.json")[:100],
		"spaces/play/memory.json": w.read("spaces/play/memory.json"),
		"quarantine/edit-of-play": strings.Replace(w.read("spaces/play/memory.json"), "play 0", "play it", 1),
	} {
		must(t, sim.MkdirAll("quarantine"))
		durably(t, sim, name, text)
	}
	_, err := publish.QuarantineEdit(
		sim,
		"quarantine/edit-of-play",
		publish.Edit{File: "spaces/play/memory.json", Kind: publish.Pending, At: w.clock.Now()},
	)
	must(t, err)
	must(t, sim.Remove("logs/2026-02-20.json"))
	must(t, sim.SyncDir("logs"))
	return sim
}

func durably(t *testing.T, sim *crashfs.FS, name, text string) {
	t.Helper()
	must(t, writeFile(sim, name, text))
	f, err := sim.OpenFile(name, 0, 0)
	must(t, err)
	must(t, errors.Join(f.Sync(), f.Close()))
	dir := "."
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		dir = name[:i]
	}
	must(t, sim.SyncDir(dir))
	must(t, sim.SyncDir("."))
}

// life starts everything and brings it to where nothing is left to do: edits taken over, the ambiguous one
// accepted, files published.
func life(t *testing.T, sim *crashfs.FS) (*world, error) {
	w := &world{t: t, fs: sim, clock: &memtest.Clock{}}
	w.clock.Advance(time.Hour)
	if err := w.open(); err != nil {
		return w, err
	}
	publishAll := func() error { return errors.Join(w.mem.PublishAll(t.Context()), w.logs.PublishAll(t.Context())) }
	look := func() error {
		_, err := w.edits.Scan(t.Context(), true)
		return err
	}
	if err := errors.Join(look(), publishAll()); err != nil {
		return w, err
	}
	list, err := w.edits.List()
	if err != nil {
		return w, err
	}
	for _, e := range list {
		if e.Kind == publish.Ambiguous {
			if _, err := w.edits.Resolve(t.Context(), e.ID, true); err != nil {
				return w, err
			}
		}
	}
	return w, errors.Join(look(), publishAll(), w.store.Err())
}

// outcome is what must be the same in the end, whatever happened on the way.
type outcome struct {
	State   map[string]string
	Waiting []string
	Reasons []string
	Files   []string
}

func (w *world) outcome(sim *crashfs.FS) outcome {
	w.t.Helper()
	o := outcome{State: w.state(), Waiting: w.waiting()}
	_, o.Reasons = w.ops()
	for _, name := range sim.Names() {
		if strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, "index/") &&
			!strings.HasPrefix(name, "snapshots/") &&
			!strings.HasPrefix(name, "journal/") &&
			!strings.HasSuffix(name, ".edit.json") {
			o.Files = append(o.Files, name+" "+fmt.Sprint(strings.Count(w.read(name), "\n")))
		}
	}
	return o
}

// TestCrashAtEveryOperation crashes the taking over of edits, and their acceptance, at every operation of the file
// system. Looking again ends in the same state, with nothing done twice.
func TestCrashAtEveryOperation(t *testing.T) {
	start := edited(t)
	fresh := func() *crashfs.FS { return start.Crash(crashfs.Kept, rand.New(rand.NewPCG(1, 1))) }
	calm := fresh()
	w, err := life(t, calm)
	must(t, err)
	want, ops := w.outcome(calm), calm.Ops()
	diff(t, "edits that wait", []string{
		"refused spaces/home/memory.json: line 5, column 22: rolling_summary: the string has no closing quote",
		"conflict memory.json: memory c: changed in the edit, but retired since (content)",
	}, want.Waiting)
	if len(want.Reasons) != 6 {
		t.Fatalf("operations: %v", want.Reasons)
	}
	if len(w.store.Space("work").Memories()) != 2 || len(w.store.Space("play").Memories()) != 2 {
		t.Fatal("memories are missing")
	}
	runs := 0
	for n := 1; n <= ops; n++ {
		if memtest.SkipSample(n, 7) {
			continue
		}
		crashed := fresh()
		crashed.CrashAt(n)
		_, _ = life(t, crashed)
		if !crashed.Crashed() {
			continue // there are fewer operations when fewer are tried again
		}
		for _, variant := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			again := crashed.Crash(variant, rand.New(rand.NewPCG(uint64(n), uint64(variant))))
			w, err := life(t, again)
			if err != nil {
				t.Fatalf("crash at %d (%s), %v: %v", n, calm.Trace()[n-1], variant, err)
			}
			if d := cmp.Diff(want, w.outcome(again)); d != "" {
				t.Fatalf("crash at %d (%s), %v: (-without +with the crash)\n%s", n, calm.Trace()[n-1], variant, d)
			}
			runs++
		}
	}
	t.Logf("%d operations of the file system, %d recoveries", ops, runs)
}

// butDeleted leaves out the deleted log: one whose deletion could not be taken over may be published again.
func (o outcome) butDeleted() outcome {
	is := func(s string) bool { return strings.Contains(s, "2026-02-20") }
	o.State = maps.Clone(o.State)
	maps.DeleteFunc(o.State, func(k, _ string) bool { return is(k) })
	o.Reasons, o.Files = slices.DeleteFunc(o.Reasons, is), slices.DeleteFunc(o.Files, is)
	return o
}

// TestErrorAtEveryOperation lets every operation of the file system fail once, in turn. Going on in the same life,
// and then in the next, ends in the same state.
func TestErrorAtEveryOperation(t *testing.T) {
	start := edited(t)
	fresh := func() *crashfs.FS { return start.Crash(crashfs.Kept, rand.New(rand.NewPCG(1, 1))) }
	calm := fresh()
	w, err := life(t, calm)
	must(t, err)
	want, ops := w.outcome(calm).butDeleted(), calm.Ops()
	for n := 1; n <= ops; n++ {
		if memtest.SkipSample(n, 7) {
			continue
		}
		for _, fault := range []error{syscall.EIO, syscall.ENOSPC} {
			failing := fresh()
			failing.FailAt(n, fault)
			if w, err := life(t, failing); w.edits != nil && err != nil {
				_, _ = w.edits.Scan(t.Context(), true)
				_ = errors.Join(w.mem.PublishAll(t.Context()), w.logs.PublishAll(t.Context()))
			}
			again := failing.Crash(crashfs.Kept, rand.New(rand.NewPCG(1, 1)))
			w, err := life(t, again)
			if err != nil {
				t.Fatalf("%v at %d (%s): %v", fault, n, calm.Trace()[n-1], err)
			}
			got := w.outcome(again).butDeleted()
			slices.Sort(got.Reasons)
			slices.Sort(want.Reasons)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%v at %d (%s): (-without +with the error)\n%s", fault, n, calm.Trace()[n-1], d)
			}
		}
	}
}
