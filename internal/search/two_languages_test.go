package search_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// TestTwoLanguages asks one store with the memories of two people, one in English and one in Chinese, in both languages.
// The memories of the other language must not drown.
func TestTwoLanguages(t *testing.T) {
	e := search.New(search.Config{Models: search.InsideModels(t)})
	dir := filepath.Join("..", "..", "bench", "retrieval", "testdata")
	texts := map[string]string{}
	var memories []*memory.Memory
	for _, set := range []string{"paraphrase-en", "paraphrase-zh"} {
		docs := search.ReadLines[evalDoc](t, filepath.Join(dir, set, "corpus.jsonl"))
		for i, d := range docs {
			texts[d.ID] = d.Text
			if d.Conv == docs[0].Conv {
				memories = append(memories, evalMemory(d, i))
			}
		}
	}
	if err := e.Load("both", memories, newDir(t)); err != nil {
		t.Fatal(err)
	}
	embedAll(t, e, "both")
	type languages struct{ question, memory bool } // Chinese
	asked, found := map[languages]int{}, map[languages]int{}
	for _, set := range []string{"paraphrase-en", "paraphrase-zh", "paraphrase-cross"} {
		for _, d := range search.ReadLines[evalDoc](t, filepath.Join(dir, set, "corpus.jsonl")) {
			texts[d.ID] = d.Text
		}
		for _, q := range search.ReadLines[evalQuery](t, filepath.Join(dir, set, "queries.jsonl")) {
			hits := []string{}
			for _, id := range q.Relevant {
				hits = append(hits, texts[id])
			}
			if q.Category != "paraphrase" || !slices.ContainsFunc(memories, func(m *memory.Memory) bool {
				return slices.Contains(hits, m.Content)
			}) {
				continue
			}
			key := languages{analysis.HasHan(q.Text), analysis.HasHan(hits[0])}
			asked[key]++
			resp := find(t, e, search.Request{Spaces: []string{"both"}, Query: q.Text, K: 3, Arm: search.Fusion})
			if slices.ContainsFunc(resp.Hits, func(h search.Hit) bool { return slices.Contains(hits, h.Memory.Content) }) {
				found[key]++
			}
		}
	}
	for key, n := range asked {
		share := float64(found[key]) / float64(n)
		t.Logf("Chinese question %v, Chinese memory %v: %.2f of %d among the first three", key.question, key.memory, share, n)
		if share < 0.2 { // .04 without the weight of the other language
			t.Errorf("Chinese question %v, Chinese memory %v: only %.2f", key.question, key.memory, share)
		}
	}
}
