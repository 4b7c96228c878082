package store_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestMemoriesShareWords adds memories that say the same beside their content, each with words of its own, and opens
// the store again.
func TestMemoriesShareWords(t *testing.T) {
	fsys := crashfs.New()
	st := memtest.OpenStore(t, fsys)
	for i := range 4 {
		_, err := st.Update(t.Context(), store.Meta{Actor: "client"}, func(tx *store.Tx) error {
			word := func(s string) string { return fmt.Sprint(s, i%2) }
			return tx.Put(&memory.Memory{
				ID: fmt.Sprint("m", i), Category: word("facts"), Source: word("user"),
				Content: fmt.Sprint("content ", i), Confidence: 1, Tags: []string{word("x"), word("y")},
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(t *testing.T) {
		all := st.Space("").Memories()
		for i, m := range all {
			want := fmt.Sprint("facts", i%2, " user", i%2, " [x", i%2, " y", i%2, "] active content ", i)
			if diff := cmp.Diff(want, fmt.Sprint(m.Category, " ", m.Source, " ", m.Tags, " ", m.Status, " ",
				m.Content)); diff != "" {
				t.Errorf("memory %d (-want +got):\n%s", i, diff)
			}
			other := all[(i+2)%4]
			if unsafe.StringData(m.Category) != unsafe.StringData(other.Category) ||
				unsafe.StringData(m.Source) != unsafe.StringData(other.Source) ||
				unsafe.SliceData(m.Tags) != unsafe.SliceData(other.Tags) {
				t.Errorf("memory %d shares nothing with one that says the same", i)
			}
			if cap(m.Tags) != len(m.Tags) {
				t.Errorf("whoever appends to the tags of memory %d writes into another's", i)
			}
		}
	}
	check(t)
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	st = memtest.OpenStore(t, fsys)
	check(t)
}
