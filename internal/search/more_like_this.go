package search

import (
	"context"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// minSharedWeight is the share of a text's weight below which no memory is compared with it.
const minSharedWeight = 0.15

// Similar is SimilarAmong of all active memories.
func (e *Engine) Similar(ctx context.Context, space, text string, k int) ([]Hit, error) {
	return e.SimilarAmong(ctx, space, text, k, memory.Filter{})
}

// SimilarByWords is Similar without meaning: no model is asked.
func (e *Engine) SimilarByWords(ctx context.Context, space, text string, k int) ([]Hit, error) {
	x, done, err := e.checkSimilar(ctx, space, text, k, memory.Filter{})
	if x == nil || err != nil {
		return nil, err
	}
	defer done()
	return e.similarIn(x, spaceName(space), text, k, memory.Filter{}), nil
}

// SimilarAmong returns the memories of a space that match filter and are nearest to text, best first, at most k (1 to
// 200). Half of them are the best by words and half the best by meaning, as far as there are so many. The score is the
// greater of the two similarities, 0 to 1. It is 1 exactly for the same text, letter case, white space and closing
// punctuation aside; texts that differ in a number or a negation score at most 0.9, and by meaning no text scores more
// than 0.85. No boost is part of it. Without a vector of the text, words decide alone. Errors:
// *memory.InvalidError, or that of ctx.
func (e *Engine) SimilarAmong(
	ctx context.Context, space, text string, k int, filter memory.Filter,
) ([]Hit, error) {
	x, done, err := e.checkSimilar(ctx, space, text, k, filter)
	if x == nil || err != nil {
		return nil, err
	}
	defer done()
	words := e.similarIn(x, spaceName(space), text, k, filter)
	meaning := e.similarByMeaning(ctx, x, spaceName(space), text, k, filter)
	return mergeSimilar(words, meaning, k), ctx.Err()
}

// checkSimilar checks the arguments and returns the index of the space once it is ready; nil when the space is unknown.
func (e *Engine) checkSimilar(
	ctx context.Context, space, text string, k int, filter memory.Filter,
) (x *invertedIndex, done func(), err error) {
	var check memory.Check
	check.Text("text", text, maxQuery, false)
	if k < 1 || k > memory.MaxK {
		check.Add("limit", "OUT_OF_RANGE", "must be from 1 to %d", memory.MaxK)
	}
	filter.Validate(&check, "filter.")
	if err := check.Err(); err != nil {
		return nil, nil, err
	}
	if err := e.waitReady(ctx); err != nil {
		return nil, nil, err
	}
	s, err := e.acquire(ctx, space)
	if s == nil || err != nil {
		return nil, nil, err
	}
	return e.indexOf(s), func() { e.release(s) }, nil
}

// Among returns a function that finds those of the given active memories that are most similar to a text by words,
// whatever becomes of them meanwhile. Analysing them takes about 30 µs for each of 300 characters, once; so who
// compares many texts with few memories, and adds the texts, does not compare with what was just added. Nil when
// there is no memory.
func (e *Engine) Among(memories []*memory.Memory) func(text string, k int) []Hit {
	if len(memories) == 0 {
		return nil
	}
	c := e.NewCollection()
	c.Put(memories...)
	return func(text string, k int) []Hit { return e.similarIn(c.index, "", text, k, memory.Filter{}) }
}

// similarIn returns the memories of one index that are most similar to a text by words. Arguments were checked.
func (e *Engine) similarIn(x *invertedIndex, space, text string, k int, filter memory.Filter) []Hit {
	a := e.analyzers.get()
	defer e.analyzers.put(a)
	s := e.scratches.get()
	defer func() {
		s.release()
		e.scratches.put(s)
	}()
	now := e.now()
	terms := a.distinctTerms(text)
	var given, other shingles
	a.setShingles(&given, text)
	pool, weights := x.sharingTerms(s, terms, 2*k+20, func(m *memory.Memory) bool {
		return !m.Expired(now) && filter.Matches(m, now) &&
			(len(terms) > 0 || memory.Normalize(m.Content) == string(given.canonical))
	})
	weight := func(term string) float64 {
		if w, ok := weights[term]; ok {
			return w
		}
		return weights[""]
	}
	for i := range pool {
		a.setShingles(&other, pool[i].memory.Content)
		pool[i].score = similarity(&given, &other, weight)
	}
	sortCandidates(pool)
	var hits []Hit
	for _, c := range pool[:min(k, len(pool))] {
		if c.score > 0 {
			hits = append(hits, Hit{Space: space, Memory: c.memory, Score: c.score})
		}
	}
	return hits
}

// distinctTerms lists the terms of a text that similarity compares.
func (a *analyzer) distinctTerms(text string) []queryTerm {
	var terms []queryTerm
	for _, t := range a.Tokenize(analysis.Normalize(text)) {
		if kindCountsForDedup(t.Kind) {
			terms = append(terms, queryTerm{term: t.Term, kind: t.Kind, weak: t.Weak, count: 1, emphasis: 1})
		}
	}
	slices.SortFunc(terms, func(a, b queryTerm) int { return strings.Compare(a.term, b.term) })
	return slices.CompactFunc(terms, func(a, b queryTerm) bool { return a.term == b.term })
}

// sharingTerms returns the memories that share most weight with the terms, and the weights of the terms; that of a term
// which no memory holds is under "".
func (x *invertedIndex) sharingTerms(
	s *scratch, terms []queryTerm, limit int, admits func(*memory.Memory) bool,
) ([]candidate, map[string]float64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	pool := topK{limit: limit}
	if len(terms) == 0 { // nothing but stop words: only the same text is similar
		for doc, m := range x.docs {
			if m != nil && admits(m) {
				pool.push(&candidate{memory: m, features: x.features[doc]})
			}
		}
		return pool.items, nil
	}
	total := x.weighTerms(terms)
	s.terms = matchedTerms(s.terms, terms, total*minSharedWeight)
	x.accumulate(s, s.terms)
	length := float32(len(terms))
	for _, doc := range s.touched {
		other := x.lengths[doc]
		ratio := min(length, other) / max(length, other)
		c := candidate{memory: x.docs[doc], features: x.features[doc], score: float64(s.sums[doc].weight / total * (1 + ratio) / 2)}
		if c.score >= pool.threshold() && admits(c.memory) {
			pool.push(&c)
		}
	}
	weights := make(map[string]float64, len(terms)+1)
	for _, t := range terms {
		weights[t.term] = float64(t.weight)
	}
	unknown := []queryTerm{{count: 1, emphasis: 1}}
	x.weighTerms(unknown)
	weights[""] = float64(unknown[0].weight)
	return pool.items, weights
}
