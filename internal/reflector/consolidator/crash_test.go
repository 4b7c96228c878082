package consolidator_test

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestCrash crashes a run over the daily log, and a decision of a review item, at every operation of the file system.
// After a restart both are repeated, and then every entry has become what it becomes, once, and the item is decided
// once.
func TestCrash(t *testing.T) {
	clean := crashfs.New()
	learnOn(t, clean)
	ops := clean.Ops()
	recoveries := 0
	for n := 1; n <= ops; n++ {
		if memtest.SkipSample(n, 5) {
			continue
		}
		crashed := crashfs.New()
		crashed.CrashAt(n)
		learnOn(t, crashed)
		for seed, v := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			fsys := crashed.Crash(v, rand.New(rand.NewPCG(uint64(n), uint64(seed))))
			recoveries++
			if got, want := learnOn(t, fsys),
				[]string{"Deploys go out on Fridays", "We use Postgres 15", "The API port is 8443"}; !cmp.Equal(want,
				got) {
				t.Fatalf("crash at %d, %s: %q", n, v, got)
			}
		}
	}
	t.Logf("%d operations, %d recoveries", ops, recoveries)
}

// learnOn brings everything as far as it gets, and returns the memories.
func learnOn(t *testing.T, fsys *crashfs.FS) []string {
	t.Helper()
	now := func() time.Time { return noon }
	engine := search.New(search.Config{Now: now})
	st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: slog.New(slog.DiscardHandler),
		Projections: []store.Projection{engine}})
	if err != nil {
		if !fsys.Crashed() {
			t.Fatal(err)
		}
		return nil
	}
	defer func() { _ = st.Close(t.Context()) }()
	if err := engine.Load(memory.DefaultSpace, st.Space("").Memories(), fsys); err != nil && !fsys.Crashed() {
		t.Fatal(err)
	}
	reviews := review.New(st)
	s := consolidator.New(consolidator.Config{Store: st, Search: engine, Now: now, Reviews: reviews})
	step := func(err error) bool {
		if err != nil && !fsys.Crashed() {
			t.Fatal(err)
		}
		return err == nil
	}
	_, err = st.Update(t.Context(), store.Meta{Actor: journal.ActorClient, Key: "begin"}, func(tx *store.Tx) error {
		if err := tx.Put(&memory.Memory{ID: "m1", Category: memory.Facts,
			Content: "Deploys of 8 services go out on Fridays", Source: memory.SourceUser, Confidence: 1}); err != nil {
			return err
		}
		for i, text := range []string{"We use Postgres 14", "We use Postgres 15", "The API port is 8443"} {
			e := memory.Entry{ID: string(rune('a' + i)), At: noon, Time: "12:00:00", Type: memory.EntryAutoExtract,
				Content: text, Category: memory.Facts}
			if err := tx.AppendEntry("2026-02-21", &e); err != nil {
				return err
			}
		}
		return nil
	})
	if !step(err) {
		return nil
	}
	_, err = s.Save(t.Context(), consolidator.SaveRequest{History: "Spoke of deploys",
		Updates: []consolidator.Update{{ID: "m1", Content: "Deploys go out on Fridays"}}, Key: "save"})
	if !step(err) {
		return nil
	}
	if _, _, err := s.Pending(t.Context(), consolidator.PendingRequest{}); !step(err) {
		return nil
	}
	items, err := reviews.List("", false)
	if !step(err) {
		return nil
	}
	for _, item := range items {
		if _, err := reviews.Resolve(t.Context(), store.Meta{}, item.Entry.ID, review.Accept); !step(err) {
			return nil
		}
	}
	if all, err := reviews.List("", true); step(err) && len(all) != 1 {
		t.Errorf("%d review items", len(all))
	}
	return active(st)
}
