package purge_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
)

// TestWritersGoOn requires that what others write during a purge is there, and that they may say again what was erased once it is.
func TestWritersGoOn(t *testing.T) {
	w := filled(t)
	const writers, each = 4, 60
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		wg.Go(func() {
			for k := range each {
				_, err := w.st.Update(t.Context(), store.Meta{Space: "busy", Actor: journal.ActorClient}, func(tx *store.Tx) error {
					return tx.Put(memtest.Fact(fmt.Sprintf("w%d-%d", i, k), fmt.Sprintf("writer %d wrote %d", i, k)))
				})
				if err != nil {
					errs[i] = err
					return
				}
				_ = w.st.Space("").Memories()
				_, _, _ = w.st.Space("").Log("2026-02-21")
			}
		})
	}
	if _, err := w.purges.Run(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	_, err := w.st.Update(t.Context(), store.Meta{Space: "again", Actor: journal.ActorClient}, func(tx *store.Tx) error {
		return tx.Put(memtest.Fact("a1", canary))
	})
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := w.st.Space("busy").Count(); n != writers*each {
		t.Errorf("%d memories of %d were kept", n, writers*each)
	}
	if _, err := w.state(); err != nil {
		t.Error(err)
	}
	again := &world{fs: w.fs.Crash(0, nil), step: w.step}
	if err := again.open(); err != nil {
		t.Fatal(err)
	}
	m, err := again.st.Space("again").Get("a1")
	if err != nil || m.Content != canary || again.st.Space("busy").Count() != writers*each {
		t.Errorf("after a restart: %v, %v, %d", m, err, again.st.Space("busy").Count())
	}
}
