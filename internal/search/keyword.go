package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// The parameters of BM25, tuned together with the kind weights on conversation and fact corpora in English and Chinese.
const (
	k1     = 1.0
	bNorm  = 0.6
	prior  = 50   // memories a store is imagined to hold beside its own, so that rarity means something in a small one
	rareP  = 0.01 // share of the imagined memories that hold an ordinary term
	weakP  = 0.3  // share of them that hold a weak one
	weakTo = 0.5  // weight of weak terms
)

// kindWeights weigh the terms of a query by kind.
var kindWeights = [...]float32{word: 1, part: 0.5, whole: 1, unigram: 0.4, single: 1, bigram: 1, emoji: 1}

// candidate is a document an arm of the search proposes, with its relevance from 0 to 1.
type candidate struct {
	doc       uint32
	relevance float64
	coverage  float32 // share of the query's information it holds at all
	dated     bool    // proposed for its date alone
	sure      bool    // enough to answer with; whether others are is seen in the closer look
	most      float64 // its score is no higher before the closer look
}

// queryTerm is one distinct term of a query.
type queryTerm struct {
	term     string
	kind     kind
	weak     bool
	name     int     // number of the name it is part of, from 1; 0 when it is not written as one
	optional bool    // adds when it matches, costs nothing when it does not
	count    float32 // occurrences
	list     []posting
	dense    *dense  // nil for a thin term
	weight   float32 // kind × occurrences × inverse document frequency
	strong   float32 // weight, or 0 when it alone makes no match
	open     bool    // a document that holds no heavier term can still be relevant
}

// informative reports whether sharing the term says something.
func (t *queryTerm) informative() bool { return !t.weak && t.kind != unigram }

// sum is what a document has gathered.
type sum struct {
	score  float32 // weights × saturation
	weight float32 // weights of the terms held
	strong float32 // the same of the informative ones
}

// weigh looks the terms up and gives them their weights. It returns the sum of weights of all that a perfect memory
// would hold.
func (x *index) weigh(terms []queryTerm) (total float32) {
	n := float64(len(x.ids) + prior)
	for i := range terms {
		t := &terms[i]
		t.list, t.dense = nil, nil
		if at, ok := x.terms[t.term]; ok {
			t.list, t.dense = x.lists[at], x.denseOf(at)
		}
		share, factor := rareP, kindWeights[t.kind]
		if t.weak {
			share, factor = weakP, factor*weakTo
		}
		df := float64(len(t.list)) + prior*share
		idf := math.Log(1 + (n-df+0.5)/(df+0.5))
		t.weight = float32(idf) * factor * float32(1+math.Log(float64(t.count)))
		if !t.optional || len(t.list) > 0 {
			total += t.weight
		}
	}
	return total
}

// saturation is how much a term of the given frequency counts, from 0 to 1. norm is lengthNorm of the document.
func saturation(frequency, norm float32) float32 { return frequency / (frequency + norm) }

// lengthNorms returns the factors a and b of norm = a + b·length.
func (x *index) lengthNorms() (a, b float32) {
	average := 1.0
	if len(x.ids) > 0 && x.total > 0 {
		average = x.total / float64(len(x.ids))
	}
	return k1 * (1 - bNorm), float32(k1 * bNorm / average)
}

// prepare sorts all terms, the heaviest first, and returns those that documents hold, in dst. A term is open as long as it and what
// follows weigh least together: a document that holds only later ones cannot reach that and need not be taken up, which spares
// most of the work that common words would make.
func prepare(dst, all []queryTerm, least float32) []queryTerm {
	slices.SortFunc(all, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.term, b.term))
	})
	terms := dst[:0]
	for i := range all {
		if len(all[i].list) > 0 {
			terms = append(terms, all[i])
		}
	}
	remaining := float32(0)
	for i := range terms {
		remaining += terms[i].weight
	}
	for i := range terms {
		t := &terms[i]
		t.open = remaining >= least*slack
		remaining -= t.weight
		t.strong = t.weight
		if !t.informative() {
			t.strong = 0
		}
	}
	return terms
}

// gather adds up what the documents hold of the terms, in s.sums, and lists the documents in s.touched.
func (x *index) gather(s *scratch, terms []queryTerm) {
	s.begin(len(x.docs))
	a, b := x.lengthNorms()
	for i := range terms {
		t := &terms[i]
		if !t.open && len(s.touched)*searchCost < len(t.list) {
			for _, doc := range s.touched {
				if at, ok := find(t.list, doc); ok {
					s.sums[doc].add(t, t.list[at].frequency(), a+b*x.facts[doc].length)
				}
			}
			continue
		}
		for _, p := range t.list {
			doc := p.doc()
			own, bit := &s.blocks[doc>>blockShift].own, uint64(1)<<(doc&blockMask)
			if *own&bit == 0 {
				if !t.open {
					continue
				}
				*own |= bit
				s.sums[doc] = sum{}
				s.touched = append(s.touched, doc)
			}
			s.sums[doc].add(t, p.frequency(), a+b*x.facts[doc].length)
		}
	}
}

const (
	searchCost = 16    // finding a document in a list, in steps of walking the list
	slack      = 0.999 // for rounding
)

// add takes up a term a document holds. The conversion keeps the compiler from fusing operations, so that a sum is the same
// wherever it is made.
func (d *sum) add(t *queryTerm, frequency, norm float32) {
	d.score += float32(t.weight * saturation(frequency, norm))
	d.weight += t.weight
	d.strong += t.strong
}

// floor is the least a document must share with a query to be a candidate. In a store of a few memories one informative word
// is enough; in a larger one words are shared by chance, and a share of the query's information must be covered. What a long
// message asks for is only part of it: beyond longQuery the share shrinks. Whether the candidates are enough to answer with
// is another question; see closer.evident.
type floor struct{ share float32 }

const (
	smallStore = 20
	largeStore = 50
	minShare   = 0.11
	longQuery  = 25 // information of a query, in weights: four or five rare words
	longPower  = 0.15
)

// smallness is 0 for the smallest stores and 1 for all but small ones.
func smallness(memories int) float32 {
	grown := math.Log(float64(max(memories, smallStore))/smallStore) / math.Log(float64(largeStore)/smallStore)
	return float32(min(grown, 1))
}

func floorFor(memories int) floor { return floor{share: minShare * smallness(memories)} }

// least is the weight a document must gather of a query of the given total.
func (f floor) least(total float32) float32 {
	if total <= longQuery {
		return f.share * total
	}
	return f.share * longQuery * float32(math.Pow(float64(total)/longQuery, longPower))
}
