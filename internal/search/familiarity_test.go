package search_test

import (
	"os"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// TestTypicalQuestions compares vectors of the typical questions with what the models make of them now: of every
// question with -update, which writes them, and of some otherwise.
func TestTypicalQuestions(t *testing.T) {
	for _, m := range search.InsideModels(t) {
		every := 16
		if *update {
			every = 1
		}
		made := search.EmbedQuestions(t, m, every)
		if *update {
			if err := os.WriteFile(search.QuestionFile(m.Name()), search.EncodeQuestions(m, made), 0o600); err != nil {
				t.Fatal(err)
			}
			continue // the test has the files as they were when it was built
		}
		shipped, err := search.ShippedQuestions(m)
		if err != nil {
			t.Fatalf("%s: %v; run with -update", m.Name(), err)
		}
		for line, v := range made {
			if got, ok := shipped.Get(vector.KeyOf(line)); !ok || got.Cosine(v) < 0.999 {
				t.Errorf("the vector of %q by %s is not of this model; run with -update", line, m.Name())
			}
		}
	}
}

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
