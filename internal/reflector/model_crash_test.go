package reflector_test

import (
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestCrashWithModel crashes a reflection by a model at every operation of the file system. After a restart the
// session is reflected exactly once: what was learnt is there once, and the mark is of the same operation.
func TestCrashWithModel(t *testing.T) {
	clean := crashfs.New()
	reflectOn(t, clean)
	ops := clean.Ops()
	if ops < 10 {
		t.Fatalf("the run has %d operations", ops)
	}
	for n := 1; n <= ops; n++ {
		if memtest.SkipSample(n, 5) {
			continue
		}
		crashed := crashfs.New()
		crashed.CrashAt(n)
		reflectOn(t, crashed)
		for seed, v := range []crashfs.CrashMode{crashfs.Lost, crashfs.Kept, crashfs.Torn} {
			fsys := crashed.Crash(v, rand.New(rand.NewPCG(uint64(n), uint64(seed))))
			op := reflectOn(t, fsys)
			st := memtest.OpenStore(t, fsys.Crash(crashfs.Lost, nil))
			learnt := map[string]int{}
			for _, m := range st.Space("p").Memories() {
				learnt[m.Content]++
			}
			s, err := st.Space("p").Session("s1")
			if err != nil || s.State != memory.SessionReflected || s.ReflectedOp != op ||
				learnt["The user likes green tea"] != 1 || learnt["We use Postgres 16"] != 1 || len(learnt) != 2 {
				t.Fatalf("crash at %d, %s: %v, session %+v, %v", n, v, learnt, s, err)
			}
			reflections := 0
			for rec, err := range st.Operations(t.Context(), 1, st.LSN()) {
				if err != nil {
					t.Fatal(err)
				}
				if rec.Actor == "reflect" {
					reflections++
				}
			}
			if reflections != 1 {
				t.Fatalf("crash at %d, %s: %d reflections", n, v, reflections)
			}
		}
	}
	t.Logf("crashed at each of %d operations, in 3 variants", ops)
}

// reflectOn brings a session on fsys as far as it gets: known memory, messages, reflection. It returns the operation
// of the reflection, 0 when a crash came first.
func reflectOn(t *testing.T, fsys *crashfs.FS) int64 {
	t.Helper()
	now := func() time.Time { return saturday }
	engine := search.New(search.Config{Now: now})
	st, err := store.Open(store.Config{FS: fsys, Now: now, Logger: slog.New(slog.DiscardHandler),
		Projections: []store.Projection{engine}})
	if err != nil {
		if !fsys.Crashed() {
			t.Fatal(err)
		}
		return 0
	}
	defer func() { _ = st.Close(t.Context()) }()
	if err := engine.Load("p", st.Space("p").Memories(), fsys); err != nil && !fsys.Crashed() {
		t.Fatal(err)
	}
	if _, err := st.Space("p").Session("s1"); err != nil {
		_, err := st.Update(t.Context(), store.Meta{Space: "p", Actor: "session"}, func(tx *store.Tx) error {
			tx.PutSession(&memory.Session{ID: "s1", State: memory.SessionEnded, StartedAt: saturday, LastAt: saturday,
				EndedAt: saturday, Messages: 1, NextSeq: 2, ReflectedSeq: 1})
			if err := tx.AppendMessage("s1",
				&memory.Message{Seq: 1, At: saturday, Role: "user",
					Content: "We use Postgres 16 and I like green tea"}); err != nil {
				return err
			}
			return tx.Put(&memory.Memory{ID: "m1", Category: memory.Facts, Content: "We use Postgres 14",
				Status: memory.Active, Source: memory.SourceUser, CreatedAt: saturday, Confidence: 1})
		})
		if err != nil {
			return 0
		}
	}
	model := says(reply(item("UPDATE", 1, "We use Postgres 16"), item("ADD", 0, "The user likes green tea")))
	r := reflector.New(reflector.Config{Store: st, Search: engine, Now: now, Model: model})
	res, err := r.Reflect(t.Context(), "p", "s1", reflector.Options{})
	if err != nil && !fsys.Crashed() {
		t.Fatal(err)
	}
	if len(model.asked) > 1 {
		t.Errorf("asked %d times", len(model.asked))
	}
	return res.Op
}
