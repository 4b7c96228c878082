package search_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search"
)

// TestPostingLists: each term has what was set last, whatever its length was before, and the room of a list that is not
// needed any more is used again.
func TestPostingLists(t *testing.T) {
	const terms, most = 50, 4
	rng := rand.New(rand.NewPCG(5, 6))
	var lists search.PostingLists
	want := make([][]uint32, terms)
	for range terms {
		lists.AddTerm()
	}
	for range 5000 {
		term := uint32(rng.IntN(terms))
		want[term] = nil
		for doc := range uint32(rng.IntN(most + 1)) {
			want[term] = append(want[term], doc*uint32(1+rng.IntN(1000)))
		}
		lists.Set(term, want[term])
		for term := range uint32(terms) {
			if got := lists.Of(term); !slices.Equal(got, want[term]) {
				t.Fatalf("term %d has %v, want %v", term, got, want[term])
			}
		}
	}
	if got := lists.Lists(); got > terms {
		t.Errorf("%d lists for %d terms", got, terms)
	}
}
