package store_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestViewStays requires that a View holds what the store held, records of archived logs included, whatever is
// written afterwards.
func TestViewStays(t *testing.T) {
	st := memtest.OpenStore(t, crashfs.New())
	write := func(id, date, summary string) {
		t.Helper()
		_, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			tx.LogArchived(memory.Archived{Date: date, Entries: 1, Summary: summary})
			return tx.Put(memtest.Fact(id, summary))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write("a", "2026-02-01", "first")
	want, err := st.Digest()
	if err != nil {
		t.Fatal(err)
	}
	view := st.OpenReadView()
	defer view.Close()
	write("b", "2026-02-01", "renewed")
	write("c", "2026-02-02", "second")
	if got, err := view.Digest(); err != nil || got != want {
		t.Errorf("the view's digest is %s, the store's was %s: %v", got, want, err)
	}
	v := view.Space("")
	if logs := v.Archived(); len(logs) != 1 || logs[0].Summary != "first" || v.ArchiveRevision() != 1 {
		t.Errorf("the view holds %d records at %d", len(logs), v.ArchiveRevision())
	}
}
