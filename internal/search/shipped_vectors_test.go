package search_test

import (
	"os"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// TestShippedVectors compares the vectors that are part of the program with what the models make of their texts now: of
// every line with -update, which writes them, and of some otherwise.
func TestShippedVectors(t *testing.T) {
	for _, m := range search.InsideModels(t) {
		for _, name := range []string{search.TypicalMemoryTexts, search.TypicalQuestionTexts} {
			every := 16
			if *update {
				every = 1
			}
			made := search.EmbedTexts(t, name, m, every)
			if *update {
				if err := os.WriteFile(search.ShippedFile(name, m.Name()), search.EncodeVectors(m, made), 0o600); err != nil {
					t.Fatal(err)
				}
				continue // the test has the files as they were when it was built
			}
			shipped := search.ShippedVectors(name, m)
			for line, v := range made {
				if got, ok := shipped.Get(vector.KeyOf(line)); !ok || got.Cosine(v) < 0.999 {
					t.Errorf("the vector of %q by %s is not of this model; run with -update", line, m.Name())
				}
			}
		}
	}
}
