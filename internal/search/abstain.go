package search

import (
	"cmp"
	"math"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// The evidence by words that a source must show to be answered from.
const (
	requiredShare    = 0.65 // of the query's weight
	maxRequired      = 15   // weight of a query that must be covered at most: a long message need not be
	weightPerTerm    = 4    // added to the weight of each different informative term, for
	maxTermsWeighed  = 3    // that many of them
	unknownNameCost  = 3    // times its weight that a name requires when the source does not contain it
	smallStoreFactor = 0.3  // of requiredShare, for the smallest store
	evidenceTop      = 3    // best candidates of which one must have the evidence
)

// answerable reports whether a source has enough evidence by words to answer from, which one of its best candidates
// must show. Otherwise the search abstains.
func (rr *reranker) answerable() bool {
	best := rr.bestPlaces(evidenceTop, func(a, b *candidate) int {
		if order := cmp.Compare(b.relevance, a.relevance); order != 0 {
			return order
		}
		return compareCandidates(a, b)
	})
	return rr.wordEvidence(best) >= 1
}

// docAt returns the document of the candidate at an index of the pool.
func (rr *reranker) docAt(poolIndex int) uint32 {
	doc, _ := rr.index.docOf(&rr.pool.items[poolIndex])
	return doc
}

// wordEvidence is the greatest evidence by words among some candidates, as a share of what words alone require. Beside
// the weight shared it counts different informative terms. A name that the source does not contain makes the query one
// about something else.
func (rr *reranker) wordEvidence(places []int) float64 {
	total := float32(rr.totalWeight)
	required := requiredShare * max(smallStoreFactor, storeScale(rr.index.liveDocs)) *
		(min(total, maxRequired) + unknownNameCost*rr.unknownNameWeight())
	most := float32(0)
	for _, place := range places {
		doc := rr.docAt(place)
		weight, terms := float32(0), 0
		for i := range rr.q.terms {
			t := &rr.q.terms[i]
			if _, ok := t.postings.find(doc); ok {
				weight += t.weight
				switch {
				case t.kind == analysis.Compound:
					terms = max(terms, 1)
				case t.informative():
					terms++
				}
			}
		}
		if terms > 0 {
			most = max(most, weight+weightPerTerm*float32(min(terms, maxTermsWeighed)))
		}
	}
	switch {
	case most == 0:
		return 0
	case most >= required: // compared before dividing, whose last bit would decide
		return max(1, float64(most)/float64(required))
	}
	return min(float64(most)/float64(required), math.Nextafter(1, 0))
}

// unknownNameWeight is the weight of the names in the query of which the source contains no word.
func (rr *reranker) unknownNameWeight() (weight float32) {
	terms := rr.q.terms
	for i := range terms {
		t := &terms[i]
		if t.name == 0 {
			continue
		}
		heaviest := true // each name counts once, by its heaviest word
		for j := range terms {
			o := &terms[j]
			if o.name == t.name && (len(o.postings) > 0 || o.weight > t.weight || o.weight == t.weight && j < i) {
				heaviest = false
			}
		}
		if heaviest && !rr.index.knowsVariant(t.term) {
			weight += t.weight
		}
	}
	return weight
}

// knowsVariant reports whether the index has a term that a name is a variant of. It reads all terms, which only a query
// with an unknown name costs.
func (x *invertedIndex) knowsVariant(name string) bool {
	for _, term := range x.terms.all() {
		if term != name && isNameVariant(name, term) {
			return true
		}
	}
	return false
}
