package search

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// The parameters of BM25, tuned together with the kind weights on conversation and fact corpora in English and Chinese.
const (
	bm25K1     = 1.0
	bm25B      = 0.45
	priorDocs  = 50   // imagined memories beside those of the store, so that rarity means something in a small store
	priorTerm  = 0.01 // share of the imagined memories that hold an ordinary term
	priorWeak  = 0.3  // share of the imagined memories that hold a weak term
	weakWeight = 0.5  // factor of weak terms
)

// kindWeights weigh the terms of a query by kind.
var kindWeights = [...]float32{
	analysis.Word: 1, analysis.Subword: 0.5, analysis.Compound: 1, analysis.HanUnigram: 0.4, analysis.HanSingle: 1,
	analysis.Bigram: 1, analysis.Emoji: 1,
}

// queryTerm is one distinct term of a query.
type queryTerm struct {
	term     string
	kind     analysis.Kind
	weak     bool
	name     int     // number of the proper name it belongs to, from 1; 0 for none
	optional bool    // adds when it matches, costs nothing when it does not
	count    float32 // occurrences in the query
	emphasis float64 // greatest of its occurrences, see embedding.Emphasis

	// Of the index that is searched:
	postings  postingList
	weight    float32 // kind × occurrences × inverse document frequency
	essential bool    // documents that hold only this term and lighter ones can be relevant
}

// informative reports whether sharing the term says something about the topic.
func (t *queryTerm) informative() bool { return !t.weak && t.kind != analysis.HanUnigram }

// weighTerms looks up the postings of the terms and sets their weights. It returns the sum of weights of a document
// that holds them all, which is the upper bound of a BM25 score.
func (x *invertedIndex) weighTerms(terms []queryTerm) (total float32) {
	for i := range terms {
		t := &terms[i]
		t.postings = nil
		df := 0
		if id, ok := x.terms.find(t.term); ok {
			t.postings, df = x.postings.of(id), x.documentFrequency(id)
		}
		t.weight = t.weightAmong(x.liveDocs, df)
		if !t.optional || df > 0 {
			total += t.weight
		}
	}
	return total
}

// weightAmong is the weight of a term that df of some live documents hold.
func (t *queryTerm) weightAmong(liveDocs, df int) float32 {
	prior, factor := priorTerm, kindWeights[t.kind]
	if t.weak {
		prior, factor = priorWeak, factor*weakWeight
	}
	n, holding := float64(liveDocs+priorDocs), float64(df)+priorDocs*prior
	idf := math.Log(1 + (n-holding+0.5)/(holding+0.5))
	return float32(idf) * factor * float32((1+math.Log(float64(t.count)))*t.emphasis)
}

// saturation is the share of its weight that a term of the given frequency adds to a document, 0 to 1.
func saturation(frequency, norm float32) float32 { return frequency / (frequency + norm) }

// lengthNorm is the denominator's part of BM25 that depends on the document length: constant + perWord · length.
type lengthNorm struct{ constant, perWord float32 }

func (x *invertedIndex) lengthNorm() lengthNorm {
	average := 1.0
	if x.liveDocs > 0 && x.totalLength > 0 {
		average = x.totalLength / float64(x.liveDocs)
	}
	return lengthNorm{bm25K1 * (1 - bm25B), float32(bm25K1 * bm25B / average)}
}

func (n lengthNorm) of(length float32) float32 { return n.constant + n.perWord*length }

// matchedTerms sorts terms by weight, the heaviest first, and returns in dst those that documents hold. A term is
// essential while it and the lighter ones weigh at least minWeight together: a document that holds none of the
// essential terms cannot reach minWeight (Turtle and Flood 1995). Common words mostly are not essential.
func matchedTerms(dst, terms []queryTerm, minWeight float32) []queryTerm {
	slices.SortFunc(terms, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.term, b.term))
	})
	matched := dst[:0]
	for i := range terms {
		if len(terms[i].postings) > 0 {
			matched = append(matched, terms[i])
		}
	}
	remaining := float32(0)
	for i := range matched {
		remaining += matched[i].weight
	}
	for i := range matched {
		matched[i].essential = minWeight == 0 || remaining >= minWeight*roundingSlack
		remaining -= matched[i].weight
	}
	return matched
}

const (
	lookupCost    = 16    // cost of finding a document in a posting list, in steps of walking the list
	roundingSlack = 0.999 // for sums whose last bits depend on their order
)

// accumulator is the sum of one document over the terms read so far. It is zero for a document that was not touched.
type accumulator struct {
	score  float32 // BM25
	weight float32 // weights of the terms held
	strong float32 // weights of the informative terms held

	proposed bool // by words; a second pass does not propose it again
}

// add adds a term that the document holds. strong is weight for an informative term, else 0. The conversion keeps the
// compiler from fusing the operations, so that a sum is the same on every machine.
func (s *accumulator) add(weight, strong, frequency, norm float32) {
	s.score += float32(weight * saturation(frequency, norm))
	s.weight += weight
	s.strong += strong
}

// accumulate adds up the terms term-at-a-time, in s.sums, and lists the documents that hold an essential term in
// s.touched.
func (x *invertedIndex) accumulate(s *scratch, terms []queryTerm) {
	s.reset(len(x.docs))
	norm, sums, lengths := x.lengthNorm(), s.sums, x.lengths
	for i := range terms {
		t := &terms[i]
		weight, strong := t.weight, float32(0)
		if t.informative() {
			strong = weight
		}
		switch {
		case t.essential:
			for _, p := range t.postings {
				sum := &sums[p.doc()]
				if sum.weight == 0 {
					s.touched = append(s.touched, p.doc())
				}
				sum.add(weight, strong, p.frequency(), norm.of(lengths[p.doc()]))
			}
		case len(s.touched)*lookupCost < len(t.postings):
			for _, doc := range s.touched {
				if at, ok := t.postings.find(doc); ok {
					sums[doc].add(weight, strong, t.postings[at].frequency(), norm.of(lengths[doc]))
				}
			}
		default:
			for _, p := range t.postings {
				if sum := &sums[p.doc()]; sum.weight != 0 {
					sum.add(weight, strong, p.frequency(), norm.of(lengths[p.doc()]))
				}
			}
		}
	}
}

// A candidate must share a minimum with the query. In a store of a few memories one informative word is enough; in a
// larger one words are shared by chance, and minShare of the query's weight must be covered. Of a long message, which
// asks only with a part of its words, the share shrinks beyond longQuery. Whether the candidates are enough to answer
// with is decided later; see answerable.
const (
	smallStore = 20
	largeStore = 50
	minShare   = 0.11
	longQuery  = 25 // weight of a query: four or five rare words
	longPower  = 0.15
)

// storeScale is 0 for the smallest stores and 1 from largeStore memories on.
func storeScale(memories int) float32 {
	grown := math.Log(float64(max(memories, smallStore))/smallStore) / math.Log(float64(largeStore)/smallStore)
	return float32(min(grown, 1))
}

// minCandidateWeight is the weight that a candidate must share with a query of the given total weight.
func minCandidateWeight(memories int, total float32) float32 {
	share := minShare * storeScale(memories)
	if total <= longQuery {
		return share * total
	}
	return share * longQuery * float32(math.Pow(float64(total)/longQuery, longPower))
}

// explainTerms lists the share of each term in the BM25 relevance of a document. They sum up to it. The caller holds
// the lock.
func (x *invertedIndex) explainTerms(terms []queryTerm, doc uint32) []Part {
	var parts []Part
	norm := x.lengthNorm().of(x.lengths[doc])
	total := float32(0)
	for i := range terms {
		if t := &terms[i]; !t.optional || len(t.postings) > 0 {
			total += t.weight
		}
	}
	for i := range terms {
		t := &terms[i]
		if at, ok := t.postings.find(doc); ok {
			share := t.weight * saturation(t.postings[at].frequency(), norm) / total
			parts = append(parts, Part{"term:" + t.term, float64(share)})
		}
	}
	return parts
}
