package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
)

// maxSimilarityMeaning is the greatest similarity by meaning. A contradiction is as near as a paraphrase, so meaning
// offers a memory for comparison and never makes it a duplicate.
const maxSimilarityMeaning = 0.85

// unrelatedCosine is, by model, a cosine below which memories are not similar at all: nine of ten of those about
// something else are below the first threshold of consolidation then (TestSimilarRestated). A model that is not named
// was not measured and takes no part, so no text is sent to a server.
var unrelatedCosine = map[string]float64{"e5": 0.14, "minilm": 0.11}

// similarByMeaning returns the memories that match filter and are nearest to a text by meaning, best first; none when
// the text gets no vector in time.
func (e *Engine) similarByMeaning(
	ctx context.Context, x *invertedIndex, space, text string, k int, filter memory.Filter,
) []Hit {
	queries := e.embedQuery(ctx, text, []string{space}, func(m embedding.Model) bool {
		_, measured := unrelatedCosine[m.Name()]
		return measured
	})
	now := e.now()
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := e.scratches.get()
	defer e.scratches.put(s)
	sums, counts := x.sumSimilarities(s, queries)
	var hits []Hit
	least := 0.0
	for doc, sum := range sums {
		if sum == 0 {
			continue
		}
		score := min(float64(sum)/float64(counts[doc]), maxSimilarityMeaning)
		if m := x.docs[doc]; score > least && m != nil && !m.Expired(now) && filter.Matches(m, now) {
			hits = append(hits, Hit{Space: space, Memory: m, Score: score})
			if len(hits) == 4*k { // amortised selection: sort once for three quarters of them
				sortSimilar(hits)
				hits, least = hits[:k], hits[k-1].Score
			}
		}
	}
	sortSimilar(hits)
	return hits[:min(k, len(hits))]
}

// sumSimilarities adds up, by document, the similarities by the models of the queries, and counts these models.
func (x *invertedIndex) sumSimilarities(s *scratch, queries []embedding.Query) (sums []float32, counts []uint16) {
	n := len(x.docs)
	s.cosines, s.held = slices.Grow(s.cosines[:0], n)[:n], slices.Grow(s.held[:0], n)[:n]
	clear(s.cosines)
	clear(s.held)
	for i, q := range queries {
		if q.Vector.Dim() == 0 {
			continue
		}
		unrelated := unrelatedCosine[x.vectors[i].model.Name()]
		x.vectors[i].rows.Cosines(q.Vector, func(doc int, cosine float64) {
			s.held[doc]++
			s.cosines[doc] += float32(max(0, cosine-unrelated) / (1 - unrelated))
		})
	}
	return s.cosines, s.held
}

// sortSimilar sorts hits, best first and ties by id.
func sortSimilar(hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Memory.ID, b.Memory.ID))
	})
}

// mergeSimilar returns at most k hits, best first: the best half of either list, and the best of what is left. What is
// in both has its greater score.
func mergeSimilar(words, meaning []Hit, k int) []Hit {
	if len(meaning) == 0 {
		return words
	}
	half := func(hits []Hit) int { return min(k/2, len(hits)) }
	rest := slices.Concat(words[half(words):], meaning[half(meaning):])
	sortSimilar(rest)
	var out []Hit
	for _, h := range slices.Concat(words[:half(words)], meaning[:half(meaning)], rest) {
		i := slices.IndexFunc(out, func(o Hit) bool { return o.Memory.ID == h.Memory.ID })
		switch {
		case i >= 0:
			out[i].Score = max(out[i].Score, h.Score)
		case len(out) < k:
			out = append(out, h)
		}
	}
	sortSimilar(out)
	return out
}
