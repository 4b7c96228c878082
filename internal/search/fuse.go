package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/memsidecar/memsidecar/internal/search/vector"
)

const (
	vectorShare   = 0.45 // weight of meaning in the fused relevance
	nearestLimit  = 20   // memories of a source that meaning alone proposes
	flatDeviation = 1e-9 // a standard deviation below which candidates do not differ
)

// nearestTo returns the memories of a source nearest to the query, best first; none without a query vector. The caller
// holds the lock.
func (r *ranking) nearestTo(x *invertedIndex, src source) []vectorNeighbor {
	nearest, known := r.nearestBySource[src]
	if !known && r.hasQueryVector && !src.isCollection() {
		nearest = x.nearestVectors(x.vectors[r.queryModel], r.queryVector, nearestLimit, r.req)
		if r.nearestBySource == nil {
			r.nearestBySource = map[source][]vectorNeighbor{}
		}
		r.nearestBySource[src] = nearest
	}
	return nearest
}

// fuseVectors adds cosines to the candidates of the answered spaces and moves their relevance by them.
func (r *ranking) fuseVectors(answered map[source]bool) {
	if r.req.Profile != Balanced || !anyTrue(answered) {
		return
	}
	v, ok := r.embedQueryOnce()
	if !ok {
		return
	}
	for _, space := range r.req.Spaces {
		if src := (source{space: spaceName(space)}); answered[src] {
			r.addCosines(src, v)
		}
	}
	r.fuseZScores()
}

func anyTrue(m map[source]bool) bool {
	for _, v := range m {
		if v {
			return true
		}
	}
	return false
}

// addCosines sets the cosines of the candidates of a space, and adds its nearest memories to them.
func (r *ranking) addCosines(src source, v vector.Quantized) {
	x := r.indexOf(src)
	if x == nil {
		return
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	rr, vectors := r.newReranker(x, src), x.vectors[r.queryModel]
	for doc, i := range rr.poolByDoc {
		c := &r.pool.items[i]
		c.cosine, c.hasCosine = vectors.cosine(doc, v)
	}
	for _, n := range r.nearestTo(x, src) {
		if doc, ok := x.docIDs.Find(n.memory.ID, x.docs); ok {
			c := rr.candidateOf(doc)
			c.cosine, c.hasCosine = n.cosine, true
		}
	}
	r.vectorsUsed = r.vectorsUsed || vectors.rows.Dim() == v.Dim()
}

// fuseZScores moves the relevance of each candidate towards its cosine, put on the scale of the relevances by mean and
// standard deviation: a weighted sum of z-scores on a scale of 0 to 1. A candidate without a vector is not moved.
func (r *ranking) fuseZScores() {
	ordered := slices.Clone(r.pool.items) // floating-point sums depend on the order
	slices.SortFunc(ordered, func(a, b candidate) int {
		return cmp.Or(a.source.compare(b.source), cmp.Compare(a.memory.ID, b.memory.ID))
	})
	var words, cosines moments
	for i := range ordered {
		if ordered[i].hasCosine {
			words.add(ordered[i].relevance)
			cosines.add(ordered[i].cosine)
		}
	}
	if words.deviation() < flatDeviation || cosines.deviation() < flatDeviation {
		r.fuseFlat(ordered)
		return
	}
	scale := words.deviation() / cosines.deviation()
	for i := range r.pool.items {
		c := &r.pool.items[i]
		if c.hasCosine {
			offset := float64((c.cosine - cosines.mean()) * scale) // rounded here on every machine
			target := min(max(words.mean()+offset, 0), 1)
			c.vectorGain = float64(vectorShare * (target - c.relevance))
		}
	}
}

// fuseFlat orders by cosine what words do not distinguish. Beside a memory that words found and that has no vector, a
// vector is no merit: then the memories found by words keep their mean relevance.
func (r *ranking) fuseFlat(ordered []candidate) {
	var cosines moments
	withoutVector := false
	for i := range ordered {
		switch c := &ordered[i]; {
		case c.relevance <= 0:
		case c.hasCosine:
			cosines.add(max(0, c.cosine))
		default:
			withoutVector = true
		}
	}
	if !withoutVector {
		cosines = moments{}
	}
	for i := range r.pool.items {
		c := &r.pool.items[i]
		if !c.hasCosine {
			continue
		}
		offset := max(0, c.cosine)
		if c.relevance > 0 {
			offset -= cosines.mean()
		}
		c.vectorGain = float64(vectorShare * offset)
	}
}

// moments accumulate the mean and the standard deviation of numbers.
type moments struct {
	n            int
	sum, squares float64
}

func (s *moments) add(v float64) {
	s.n++
	s.sum += v
	s.squares += float64(v * v)
}

func (s *moments) mean() float64 { return s.sum / float64(max(1, s.n)) }

func (s *moments) deviation() float64 {
	if s.n < 2 {
		return 0
	}
	m := s.mean()
	return math.Sqrt(max(0, s.squares/float64(s.n)-float64(m*m)))
}
