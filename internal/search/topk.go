package search

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// candidate is a memory that may become a hit, with the evidence for it.
type candidate struct {
	source       source
	memory       *memory.Memory
	doc          uint32 // of the memory when it was found; see docOf
	features     docFeatures
	relevance    float64 // by words, 0 to 1
	allTerms     bool    // holds every term of the query
	dateOnly     bool    // found by its date alone
	sufficient   bool    // enough to answer with, whatever the others are
	neighborGain float64 // from memories learnt beside it
	hasCosine    bool
	cosine       float64 // with the query vector
	vectorGain   float64 // from meaning; may be negative
	identifiers  int     // identifiers of the query that it holds
	evidence     float64 // absolute; see evidence.go
	twoModels    bool    // its evidence is by two models, or weighed as such
	probability  float64 // of being relevant
	strength     Strength
	score        float64
	tie          float64 // decides between equal scores
	parts        []Part
}

// compareCandidates orders by score and tie, then newest first; the id makes the order total.
func compareCandidates(a, b *candidate) int {
	if c := compareScores(a, b); c != 0 {
		return c
	}
	return cmp.Or(compareNewest(&a.features, &b.features, a.memory, b.memory), a.source.compare(b.source))
}

// compareScores orders by score and tie, the best first.
func compareScores(a, b *candidate) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	return cmp.Compare(b.tie, a.tie)
}

// compareNewest orders by creation, newest first, then by id.
func compareNewest(a, b *docFeatures, ma, mb *memory.Memory) int {
	return cmp.Or(cmp.Compare(b.created, a.created), strings.Compare(ma.ID, mb.ID))
}

func sortCandidates(all []candidate) {
	slices.SortFunc(all, func(a, b candidate) int { return compareCandidates(&a, &b) })
}

// topK keeps the limit best candidates pushed. limit is positive.
type topK struct {
	limit int
	items []candidate // in any order
	heap  []int32     // positions in items once there are limit of them, the worst on top
}

// worst is the worst candidate kept, nil as long as every candidate is.
func (k *topK) worst() *candidate {
	if len(k.items) < k.limit {
		return nil
	}
	return &k.items[k.heap[0]]
}

// threshold is the score that a candidate must reach.
func (k *topK) threshold() float64 {
	if w := k.worst(); w != nil {
		return w.score
	}
	return math.Inf(-1)
}

// rejects reports that no candidate of that score, tie and creation is kept.
func (k *topK) rejects(c *candidate) bool {
	w := k.worst()
	if w == nil {
		return false
	}
	order := compareScores(c, w)
	return order > 0 || order == 0 && c.features.created < w.features.created
}

// push adds a candidate, in place of the worst when the heap is full.
func (k *topK) push(c *candidate) {
	if w := k.worst(); w != nil {
		if compareCandidates(c, w) < 0 {
			*w = *c
			k.siftDown(0)
		}
		return
	}
	k.items = append(k.items, *c)
	if len(k.items) == k.limit {
		k.heap = k.heap[:0]
		for i := range k.items {
			k.heap = append(k.heap, int32(i))
		}
		for i := len(k.heap)/2 - 1; i >= 0; i-- {
			k.siftDown(i)
		}
	}
}

// siftDown restores the heap below position i.
func (k *topK) siftDown(i int) {
	h := k.heap
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && compareCandidates(&k.items[h[child]], &k.items[h[child+1]]) < 0 {
			child++
		}
		if compareCandidates(&k.items[h[i]], &k.items[h[child]]) >= 0 {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
