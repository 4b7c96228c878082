package search_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/search"
)

// TestFamiliarity asks a store of a memory that is near to many questions and of one that is near to few.
func TestFamiliarity(t *testing.T) {
	few, many := "The user cannot digest gluten.", "The user asks many questions about plans for today."
	e := embedded(t, saidIn("", few, many)...)
	resp := find(t, e, search.Request{Query: "What should I have for lunch?", Arm: search.Fusion, AsOf: epoch, Explain: true})
	got := map[string]float64{}
	for _, h := range resp.Hits {
		got[h.Memory.Content] = parts(h)["familiarity"]
	}
	if len(got) != 2 || got[few] <= 0 || got[many] >= 0 {
		t.Errorf("familiarity gives %v, want more than 0 for %q and less for %q", got, few, many)
	}
}
