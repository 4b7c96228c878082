package store_test

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/durable"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

func TestSmoke(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	fsys := durable.Dir(root)
	open := func() *store.Store {
		st, err := store.Open(store.Config{FS: fsys, Now: time.Now, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	st := open()
	for i := range 100 {
		res, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			return tx.Put(&memory.Memory{ID: fmt.Sprintf("m%d", i), Category: "facts", Content: fmt.Sprint("hello ", i), Source: "user_explicit", Confidence: 1})
		})
		if err != nil {
			t.Fatal(err)
		}
		if res.Op != int64(i+1) {
			t.Fatal(res)
		}
	}
	if _, err := st.Undo(t.Context(), store.Meta{}, 100); err != nil {
		t.Fatal(err)
	}
	if n := st.Space("").Count(); n != 99 {
		t.Fatal(n)
	}
	h, err := st.History(t.Context(), "default", "m99", 10)
	if err != nil || len(h) != 2 {
		t.Fatal(h, err)
	}
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	st = open()
	if n := st.Space("").Count(); n != 99 {
		t.Fatal(n)
	}
	if _, err := st.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	st = open()
	if n := st.Space("").Count(); n != 99 {
		t.Fatal(n)
	}
	st.Close(t.Context())
}
