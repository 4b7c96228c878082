package logindex_test

import (
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/logindex"
	"github.com/memsidecar/memsidecar/internal/store"
)

// TestPurged erases a text from the logs of a space that is being searched, in the journal's tail and in a snapshot.
func TestPurged(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		w := open(t, logindex.Limits{})
		w.log("", 1, entry("a", "The password hint is wolframite"), entry("b", "The crane lifted the beam"))
		w.update("", func(tx *store.Tx) error {
			tx.SetDay(&memory.Day{Date: w.date(1), Summary: "Somebody wrote about wolframite.", Archived: true})
			return nil
		})
		if snapshot {
			if _, err := w.store.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(names(w.search(search.Request{Query: "wolframite"}))); n != 2 {
			t.Fatalf("found %d before", n)
		}
		w.purge("wolframite")
		if n := w.index.IndexedTexts(""); n != 0 {
			t.Errorf("snapshot %v: %d texts are kept right after the purge", snapshot, n)
		}
		w.finds(search.Request{Query: "wolframite"})
		w.finds(search.Request{Query: "crane lifted the beam"}, "log:b")
		for _, h := range w.search(search.Request{Query: "password hint"}).Hits {
			if strings.Contains(h.Memory.Content, "wolframite") {
				t.Errorf("found %q", h.Memory.Content)
			}
		}
	}
}

// purge erases a text from everywhere.
func (w *world) purge(text string) {
	w.t.Helper()
	p, err := w.store.PlanPurge(w.t.Context(), store.PurgeRequest{Space: memory.DefaultSpace, Texts: []string{text}})
	if err == nil {
		err = p.Commit(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
