package store_test

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestDrop: a space is dropped only as the caller saw it; then nothing tells of it, in this life and the next, and it
// can be filled again.
func TestDrop(t *testing.T) {
	for _, space := range []string{"guest", memory.DefaultSpace} {
		t.Run(space, func(t *testing.T) {
			r := &run{fs: crashfs.New()}
			if err := errors.Join(r.open(), r.add(space, "m1", "tea"), r.add("other", "o1", "stays")); err != nil {
				t.Fatal(err)
			}
			if _, err := r.st.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, _, seen := r.st.Space(space).Look(nil)
			if err := r.add(space, "m2", "coffee"); err != nil {
				t.Fatal(err)
			}
			if err := r.st.Drop(t.Context(), space, seen); !errors.Is(err, memory.ErrStale) {
				t.Errorf("dropped with a write that nobody saw: %v", err)
			}
			_, _, seen = r.st.Space(space).Look(nil)
			r.st.CountAccess(space, []string{"m1"}, r.now())
			if err := r.st.Drop(t.Context(), space, seen); !errors.Is(err, memory.ErrStale) {
				t.Errorf("dropped with accesses that are not journaled: %v", err)
			}
			if err := r.st.FlushAccesses(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, _, seen = r.st.Space(space).Look(nil)
			if err := r.st.Drop(t.Context(), space, seen); err != nil {
				t.Fatal(err)
			}
			gone := func() {
				t.Helper()
				if listed := slices.Contains(r.st.Spaces(), space); listed != (space == memory.DefaultSpace) ||
					r.st.Space(space).Count() != 0 {
					t.Errorf("the dropped space: listed %v, %d memories", listed, r.st.Space(space).Count())
				}
				if _, err := r.st.StateAt(t.Context(), space, seen); !errors.Is(err, memory.ErrTrimmed) {
					t.Errorf("the state before the drop: %v", err)
				}
			}
			gone()
			if err := r.restart(); err != nil {
				t.Fatal(err)
			}
			gone()
			if err := errors.Join(r.add(space, "m3", "water"), r.restart()); err != nil {
				t.Fatal(err)
			}
			if m := r.st.Space(space).Memories(); len(m) != 1 || m[0].ID != "m3" || r.st.Space("other").Count() != 1 {
				t.Errorf("filled again: %v, and %d in the other", m, r.st.Space("other").Count())
			}
		})
	}
}

// TestNotOpened: only the exchange writes to a space that is not open.
func TestNotOpened(t *testing.T) {
	st, err := store.Open(store.Config{FS: crashfs.New(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Opened: func(space string) error { return &memory.NotOpenError{Space: space} }})
	if err != nil {
		t.Fatal(err)
	}
	put := func(tx *store.Tx) error { return tx.Put(memtest.Fact("m1", "tea")) }
	for actor, refused := range map[string]bool{"client": true, "archive": true, "share": false} {
		_, err := st.Update(t.Context(), store.Meta{Space: "guest", Actor: actor}, put)
		if errors.Is(err, memory.ErrNotOpen) != refused {
			t.Errorf("a write by %s: %v", actor, err)
		}
	}
}
