package store_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestEqualInATransaction: a transaction finds what it wrote itself, whether it has asked before or not, and only while
// it says the same.
func TestEqualInATransaction(t *testing.T) {
	st, err := store.Open(store.Config{FS: crashfs.New(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		finds := func(content, want string) {
			t.Helper()
			got := ""
			if m := tx.Equal(memory.Facts, content); m != nil {
				got = m.ID
			}
			if got != want {
				t.Errorf("%q is said by %q, want %q", content, got, want)
			}
		}
		put := func(id, content string) {
			t.Helper()
			if err := tx.Put(memtest.Fact(id, content)); err != nil {
				t.Fatal(err)
			}
		}
		put("a", "The sky is blue.")
		put("b", "Grass is green")
		put("c", "Snow is white")
		put("c", "Snow melts")
		finds("the  sky is BLUE", "a")
		finds("Snow is white", "")
		finds("snow melts!", "c")
		put("d", "Coal is black")
		finds("coal is black", "d")
		put("a", "The sky is grey")
		finds("the sky is blue", "")
		finds("the sky is grey", "a")
		tx.Remove("b")
		finds("grass is green", "")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
