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
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestSteadyUse adds memories and recalls others, minute after minute, in a space whose file has 2 MB: memory.json is
// at most 5 seconds behind, and costs a few bytes for each byte that is added, not its size again and again. The
// accesses are in it an hour later.
func TestSteadyUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys, written := durable.CountWritten(crashfs.New())
		logger := slog.New(slog.DiscardHandler)
		p := jsonstore.NewPublisher(jsonstore.Config{FS: fsys, Now: time.Now, Logger: logger})
		st, err := store.Open(store.Config{FS: fsys, Now: time.Now, Logger: logger, Projections: []store.Projection{p}})
		if err != nil {
			t.Fatal(err)
		}
		p.Attach(jsonstore.FromStore(st))
		content := strings.Repeat("runs the usual jobs. ", 13)
		n := 0
		add := func(items int) {
			_, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
				for range items {
					m := &memory.Memory{ID: fmt.Sprint("m", n), Category: "facts", Content: content, Salience: .5,
						Confidence: 1, Source: "user_explicit"}
					if n++; tx.Put(m) != nil {
						return tx.Put(m)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 30 { // while memories are added, the number of operations gets two digits more
			add(100)
		}
		publishAll(t, p)
		time.Sleep(time.Second)
		add(1)
		publishAll(t, p) // both files are there
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()

		rng := rand.New(rand.NewPCG(1, 2))
		before, acked := written.Bytes()["memory.json"], 0
		for i := range 1500 { // five minutes
			add(1)
			acked += len(content)
			st.CountAccess(memory.DefaultSpace, []string{fmt.Sprint("m", rng.IntN(n)), fmt.Sprint("m", rng.IntN(n))}, time.Now())
			if i%10 == 0 {
				if err := st.FlushAccesses(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(200 * time.Millisecond)
			if s := p.Status(); s[0].Pending && time.Since(s[0].Since) > 5*time.Second {
				t.Fatalf("memory.json is %v behind", time.Since(s[0].Since))
			}
		}
		cost := float64(written.Bytes()["memory.json"]-before) / float64(acked)
		t.Logf("%.2f bytes written to memory.json for each byte added", cost)
		if cost > 8 {
			t.Errorf("%.1f bytes are written to memory.json for each byte added, want at most 8", cost)
		}
		time.Sleep(2 * time.Hour)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for _, m := range read(t, fsys, "memory.json").Memories {
			if want, err := st.Space("").Get(m.ID); err != nil || m.AccessCount() != want.AccessCount() ||
				!m.LastAccessed().Equal(want.LastAccessed()) {
				t.Fatalf("memory.json shows %d accesses of %s, last %v; want %+v, %v", m.AccessCount(), m.ID, m.LastAccessed(),
					want, err)
			}
		}
	})
}
