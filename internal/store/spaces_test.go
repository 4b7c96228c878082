package store_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestSpaces: the names are there at once, in order, and belong to the caller, although they are kept.
func TestSpaces(t *testing.T) {
	fsys := crashfs.New()
	st := memtest.OpenStore(t, fsys)
	want := []string{memory.DefaultSpace}
	for _, name := range []string{"work", "alpha", "work", "zeta", "beta"} {
		_, err := st.Update(t.Context(), store.Meta{Actor: "client", Space: name}, func(tx *store.Tx) error {
			return tx.Put(&memory.Memory{ID: store.NewID(), Category: "facts", Source: "user", Content: "in " + name,
				Confidence: 1})
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(want, name) {
			want = append(want, name)
			slices.Sort(want)
		}
		for range 2 {
			got := st.Spaces()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after one more in %s (-want +got):\n%s", name, diff)
			}
			slices.Reverse(got)
		}
	}
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, memtest.OpenStore(t, fsys).Spaces()); diff != "" {
		t.Errorf("after a start (-want +got):\n%s", diff)
	}
}
