package search_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// TestGoldenParaphrases keeps the answers to 30 questions that share hardly a word with the memory that answers them:
// ten English ones, ten Chinese ones, and ten Chinese ones about English memories.
func TestGoldenParaphrases(t *testing.T) {
	models := search.InsideModels(t)
	fsys := newDir(t)
	e := search.New(search.Config{Models: models, Now: func() time.Time { return epoch }})
	got := map[string]string{}
	dir := filepath.Join("..", "..", "bench", "retrieval", "testdata")
	loaded := map[string]bool{}
	var sum quality
	n := 0
	for _, set := range []string{"paraphrase-en", "paraphrase-zh", "paraphrase-cross"} {
		queries := search.ReadLines[evalQuery](t, filepath.Join(dir, set, "queries.jsonl"))
		space := queries[0].Conv
		if !loaded[space] {
			loaded[space] = true
			var memories []*memory.Memory
			for i, d := range search.ReadLines[evalDoc](t, filepath.Join(dir, set, "corpus.jsonl")) {
				if d.Conv == space {
					memories = append(memories, evalMemory(d, i))
				}
			}
			if err := e.Load(space, memories, fsys); err != nil {
				t.Fatal(err)
			}
			embedAll(t, e, space)
		}
		queries = slices.DeleteFunc(queries, func(q evalQuery) bool { return q.Category != "paraphrase" || q.Conv != space })
		const asked = 10
		for i := range asked { // spread over all
			q := queries[i*len(queries)/asked]
			n++
			at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
			resp := find(t, e, search.Request{Spaces: []string{space}, Query: q.Text, K: 10, Arm: search.Fusion, AsOf: at})
			one := rate(ids(resp.Hits), q.Relevant)
			sum.add(one)
			got[fmt.Sprintf("%s-%02d.txt", strings.TrimPrefix(set, "paraphrase-"), i+1)] = golden(q, resp) + "\n" + one.String() + "\n"
		}
	}
	got["summary.txt"] = fmt.Sprintf("%s over %d questions\n", sum.over(n), n)
	compareGolden(t, filepath.Join("testdata", "paraphrases"), got)
}

// embedAll returns once every memory of a space has its vectors.
func embedAll(t *testing.T, e *search.Engine, space string) {
	t.Helper()
	search.EmbedUntil(t, e, newDir(t), func() bool { return e.EmbeddingCoverage(space).Waiting == 0 })
}
