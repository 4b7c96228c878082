package jsonstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/jsonstore"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// restart does what a start does with a store and its memory.json. Errors are those of a simulated crash.
func restart(fsys durable.FS) (*store.Store, *jsonstore.Publisher, error) {
	logger := slog.New(slog.DiscardHandler)
	p := jsonstore.NewPublisher(jsonstore.Config{FS: fsys, Now: time.Now, Logger: logger})
	if err := publish.Recover(fsys); err != nil {
		return nil, nil, err
	}
	st, err := store.Open(store.Config{FS: fsys, Now: time.Now, Logger: logger, Projections: []store.Projection{p}})
	if err != nil {
		return nil, nil, err
	}
	p.Attach(jsonstore.FromStore(st))
	return st, p, nil
}

// restarted is restart without a crash.
func restarted(t *testing.T, fsys durable.FS) (*store.Store, *jsonstore.Publisher) {
	t.Helper()
	st, p, err := restart(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return st, p
}

// accessed makes a space with a file of 150 KB and a backup, both published, and accesses that are not in them.
func accessed(t *testing.T) *crashfs.FS {
	t.Helper()
	fsys := crashfs.New()
	st, p := restarted(t, fsys)
	for i := range 300 {
		put(t, st, "", fmt.Sprint("m", i), func(m *memory.Memory) { m.Content = strings.Repeat("runs the usual jobs. ", 13) })
	}
	publishAll(t, p)
	time.Sleep(time.Second)
	put(t, st, "", "next", nil)
	publishAll(t, p)
	time.Sleep(time.Second)
	for i := range 240 { // 12 of each, a number of two digits
		st.CountAccess(memory.DefaultSpace, []string{fmt.Sprint("m", i%20)}, time.Now())
	}
	if err := st.FlushAccesses(t.Context()); err != nil {
		t.Fatal(err)
	}
	return fsys
}

// runFor runs the publisher for some time.
func runFor(t *testing.T, p *jsonstore.Publisher, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// checkShown fails when memory.json does not hold every memory, or shows an access too many; with all, or too few.
func checkShown(t *testing.T, fsys durable.FS, st *store.Store, all bool) {
	t.Helper()
	f := read(t, fsys, "memory.json")
	if want := len(st.Space("").Contents().Memories); len(f.Memories) != want {
		t.Fatalf("memory.json has %d memories, want %d", len(f.Memories), want)
	}
	for _, m := range f.Memories {
		want, err := st.Space("").Get(m.ID)
		if err != nil || m.AccessCount() > want.AccessCount() || all && m.AccessCount() != want.AccessCount() {
			t.Fatalf("memory.json shows %d accesses of %s, want %d, %v", m.AccessCount(), m.ID, want.AccessCount(), err)
		}
	}
}

// TestCrashForgetsNoAccesses: accesses that wait when the process ends do not cost a whole memory.json, twice, after
// the next start. They are in it an hour later.
func TestCrashForgetsNoAccesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys, written := durable.CountWritten(accessed(t)) // as SIGKILL leaves it
		st, p := restarted(t, fsys)
		for i := range 4 {
			put(t, st, "", fmt.Sprint("later", i), nil)
			runFor(t, p, 10*time.Second)
		}
		info, err := fsys.Lstat("memory.json")
		if err != nil {
			t.Fatal(err)
		}
		if wrote := written.Bytes()["memory.json"]; wrote > info.Size()/3 {
			t.Errorf("after the start %d bytes are written for four memories, into a file of %d", wrote, info.Size())
		}
		checkShown(t, fsys, st, false)
		runFor(t, p, 2*time.Hour)
		checkShown(t, fsys, st, true)
	})
}

// TestCorrectionIsShown: an access count that became lower than the file's before a crash is shown after it: only what
// was counted meanwhile may wait.
func TestCorrectionIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := accessed(t)
		st, p := restarted(t, fsys)
		put(t, st, "", "later", nil)
		runFor(t, p, 2*time.Hour) // with all accesses
		put(t, st, "", "m3", func(m *memory.Memory) { m.SetAccesses(0, m.LastAccessed()) })
		st, p = restarted(t, fsys)
		runFor(t, p, 10*time.Second)
		checkShown(t, fsys, st, true)
	})
}

// TestForeignAccessesAreNotHeld: a file that somebody else changed says nothing about what was published.
func TestForeignAccessesAreNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := accessed(t)
		data, err := durable.ReadFile(fsys, "memory.json")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		write(t, fsys, "memory.json", string(data)+"\n")
		st, p := restarted(t, fsys)
		put(t, st, "", "later", nil)
		runFor(t, p, 10*time.Second) // it is kept aside, because nobody merges edits here
		checkShown(t, fsys, st, true)
	})
}

// TestCrashAtEveryOperationAfterRestart crashes a start and its first publication at each operation: whatever is left,
// the file is whole, shows no access too many, and has all of them in the end.
func TestCrashAtEveryOperationAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := accessed(t)
		add := func(st *store.Store, id string) {
			_, _ = st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
				return tx.Put(&memory.Memory{ID: id, Category: "facts", Content: id, Salience: .5, Confidence: 1,
					Source: "user_explicit"})
			}) // an error is the crash
		}
		run := func(fsys *crashfs.FS) {
			if st, p, err := restart(fsys); err == nil {
				add(st, "later")
				runFor(t, p, 10*time.Second)
			}
		}
		start := base.Ops()
		probe := base.Clone()
		run(probe)
		if trace := strings.Join(probe.Trace()[start:], "\n"); !strings.Contains(trace, "rename memory.json.bak memory.json.tmp") {
			t.Fatalf("the backup is not overwritten:\n%s", trace)
		}
		for n := start + 1; n <= probe.Ops()+1; n++ {
			if memtest.SkipSample(n, 3) {
				continue
			}
			for i, mode := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
				fsys := base.Clone()
				fsys.CrashAt(n)
				run(fsys)
				after := fsys.Crash(mode, rand.New(rand.NewPCG(uint64(i), 5)))
				st, p := restarted(t, after)
				add(st, "last")
				runFor(t, p, 10*time.Second)
				checkShown(t, after, st, false)
				publishAll(t, p)
				checkShown(t, after, st, true)
				if t.Failed() {
					t.Fatalf("crash at operation %d, %v", n-start, mode)
				}
			}
		}
		t.Logf("%d operations", probe.Ops()-start)
	})
}
