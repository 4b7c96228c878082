package search_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/search"
)

// offeredFrom is the similarity from which consolidation shows a memory to a model.
const offeredFrom = 0.15

// restatement says the content of a memory in other words.
type restatement struct{ id, text string }

// restated returns 60 restatements, of which few share a word with the memory, and the memories of seven people, 281.
func restated(t *testing.T) (all []restatement, memories []*memory.Memory) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "restated.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		id, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all = append(all, restatement{id, text})
	}
	corpus := filepath.Join("..", "..", "bench", "retrieval", "testdata", "paraphrase-cross", "corpus.jsonl")
	for i, d := range search.ReadLines[evalDoc](t, corpus) {
		memories = append(memories, evalMemory(d, i))
	}
	if memtest.RaceDetector { // models are slow then, and there is nothing more to find
		all, memories = all[:3], memories[:40]
	}
	return all, memories
}

// offered counts the restatements whose memory is among the ten most similar ones, similar enough, and the other
// memories that are.
func offered(t *testing.T, all []restatement, similar func(text string) []search.Hit) (right, others int) {
	t.Helper()
	for _, r := range all {
		hits := slices.DeleteFunc(similar(r.text), func(h search.Hit) bool { return h.Score < offeredFrom })
		others += len(hits)
		i := slices.IndexFunc(hits, func(h search.Hit) bool { return h.Memory.ID == r.id })
		if i < 0 {
			t.Logf("not offered: %q", r.text)
			continue
		}
		right, others = right+1, others-1
	}
	return right, others
}

// TestSimilarRestated compares what says a known thing in other words with all that is known. By words, fewer than half
// of the known things would be offered. However near a text is, meaning alone makes it no duplicate.
func TestSimilarRestated(t *testing.T) {
	all, memories := restated(t)
	e := embedded(t, memories...)
	words, others := offered(t, all, func(text string) []search.Hit { return similarTo(t, e.SimilarByWords, text) })
	t.Logf("by words: %d of %d offered, and %d other memories", words, len(all), others)
	both, others := offered(t, all, func(text string) []search.Hit {
		hits := similarTo(t, e.Similar, text)
		if hits[0].Score > 0.9 {
			t.Errorf("%q scores %v", text, hits[0].Score)
		}
		return hits
	})
	t.Logf("by words and meaning: %d of %d offered, and %d other memories", both, len(all), others)
	if !memtest.RaceDetector && (both < 55 || words > 30 || others > 6*len(all)) {
		t.Error("too few are offered, or too many others")
	}
}

// similarTo returns the ten memories of the default space that are most similar to a text.
func similarTo(t *testing.T, similar func(context.Context, string, string, int) ([]search.Hit, error),
	text string,
) []search.Hit {
	t.Helper()
	hits, err := similar(t.Context(), "", text, 10)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

// TestSimilarContradicted compares a fact with what denies it: it is offered, and is no duplicate.
func TestSimilarContradicted(t *testing.T) {
	e := embedded(t, storeOfTen()...)
	for _, text := range []string{"The user tolerates peanuts well.", "Nothing that the user eats makes him ill, nuts included."} {
		hits := similarTo(t, e.Similar, text)
		if len(hits) == 0 || hits[0].Memory.ID != "0" || hits[0].Score < offeredFrom || hits[0].Score > 0.9 {
			t.Errorf("%q: %v", text, hits)
		}
	}
	if hits := similarTo(t, e.Similar, "the user is allergic to peanuts"); hits[0].Score != 1 {
		t.Errorf("the same text scores %v", hits[0].Score)
	}
}

// TestSimilarLimit asks for few: what is first stays first, and half of the hits are the best by words.
func TestSimilarLimit(t *testing.T) {
	e := embedded(t, storeOfTen()...)
	const text = "The user's sister, allergic to nuts, moved her office to Lisbon."
	ten := similarTo(t, e.Similar, text)
	byWords, err := e.SimilarByWords(t.Context(), "", text, 2)
	if err != nil || len(byWords) != 2 {
		t.Fatal(byWords, err)
	}
	for k := 1; k <= 10; k++ {
		hits, err := e.Similar(t.Context(), "", text, k)
		if err != nil || len(hits) > k || hits[0].Memory.ID != ten[0].Memory.ID {
			t.Errorf("%d: %v, %v", k, hits, err)
		}
		if got := ids(hits); k >= 4 && (!slices.Contains(got, byWords[0].Memory.ID) || !slices.Contains(got, byWords[1].Memory.ID)) {
			t.Errorf("%d: %v, want %v among them", k, got, ids(byWords))
		}
	}
}
