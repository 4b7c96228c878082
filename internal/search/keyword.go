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
	sure      bool    // enough to answer with; others only join the answers of their space
}

// queryTerm is one distinct term of a query.
type queryTerm struct {
	term     string
	kind     kind
	weak     bool
	optional bool    // adds when it matches, costs nothing when it does not
	count    float32 // occurrences
	list     []posting
	weight   float32 // kind × occurrences × inverse document frequency
}

// sum is what a document has gathered.
type sum struct {
	score  float32 // weights × saturation
	weight float32 // weights of the terms held
	strong float32 // the same of the informative ones
}

// scratch is the working space of one search.
type scratch struct {
	sums    []sum // by document; all zero between searches
	touched []uint32
	passed  []candidate
	order   []uint32
}

// weigh looks the terms up and gives them their weights. It returns the sum of weights of all that a perfect memory
// would hold.
func (x *index) weigh(terms []queryTerm) (total float32) {
	n := float64(len(x.ids) + prior)
	for i := range terms {
		t := &terms[i]
		t.list = nil
		if at, ok := x.terms[t.term]; ok {
			t.list = x.lists[at]
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

// gather adds up what the documents hold of the terms. It leaves out documents that cannot reach least: the terms are
// taken rarest first, and once those that remain weigh less than that, no new document is taken up, which
// spares most of the work that common words would make.
func (x *index) gather(s *scratch, terms []queryTerm, least float32) {
	slices.SortFunc(terms, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.term, b.term))
	})
	remaining := float32(0)
	for i := range terms {
		if len(terms[i].list) > 0 {
			remaining += terms[i].weight
		}
	}
	if len(s.sums) < len(x.docs) {
		s.sums = make([]sum, len(x.docs)+len(x.docs)/8)
	}
	s.touched = s.touched[:0]
	a, b := x.lengthNorms()
	for i := range terms {
		t := &terms[i]
		if len(t.list) == 0 {
			continue
		}
		strong := t.weight
		if t.weak || t.kind == unigram {
			strong = 0
		}
		open := remaining >= least*slack
		remaining -= t.weight
		if !open && len(s.touched)*searchCost < len(t.list) {
			for _, doc := range s.touched {
				if at, ok := find(t.list, doc); ok {
					s.sums[doc].add(t.weight*saturation(t.list[at].frequency(), a+b*x.lengths[doc]), t.weight, strong)
				}
			}
			continue
		}
		for _, p := range t.list {
			doc := p.doc()
			d := &s.sums[doc]
			if d.weight == 0 {
				if !open {
					continue
				}
				s.touched = append(s.touched, doc)
			}
			d.add(t.weight*saturation(p.frequency(), a+b*x.lengths[doc]), t.weight, strong)
		}
	}
}

const (
	searchCost = 16    // finding a document in a list, in steps of walking the list
	slack      = 0.999 // for rounding
)

func (d *sum) add(score, weight, strong float32) {
	d.score += score
	d.weight += weight
	d.strong += strong
}

// keyword is the keyword arm: it yields the documents that hold enough of the terms to be relevant, roughly the best first.
// found counts the documents it looked at.
func (x *index) keyword(s *scratch, terms []queryTerm, yield func(candidate)) (found int) {
	total := x.weigh(terms)
	if total == 0 {
		return 0
	}
	least := floorFor(len(x.ids)).least(total)
	x.gather(s, terms, least*companion)
	s.passed = s.passed[:0]
	for _, doc := range s.touched {
		d := s.sums[doc]
		s.sums[doc] = sum{}
		if d.strong > 0 && d.weight >= least*companion {
			s.passed = append(s.passed, candidate{
				doc: doc, relevance: float64(d.score / total), coverage: d.weight / total, sure: d.weight >= least,
			})
		}
	}
	for _, i := range s.roughOrder() {
		yield(s.passed[i])
	}
	return len(s.touched)
}

// roughOrder sorts what passed into steps of relevance, best first. The best ones raise the bar early, so that
// most of the others need no look at their memories.
func (s *scratch) roughOrder() []uint32 {
	const steps = 256
	step := func(c candidate) int { return min(max(int((1-c.relevance)*steps), 0), steps-1) }
	var ends [steps + 1]uint32
	for _, c := range s.passed {
		ends[step(c)+1]++
	}
	for i := range steps {
		ends[i+1] += ends[i]
	}
	s.order = slices.Grow(s.order[:0], len(s.passed))[:len(s.passed)]
	for i, c := range s.passed {
		at := &ends[step(c)]
		s.order[*at] = uint32(i)
		*at++
	}
	return s.order
}

// floor is the least a document must share with a query to be relevant, calibrated so that of the questions that have an
// answer hardly any goes unanswered. In a store of a few memories one informative word is enough; in a larger one words are
// shared by chance, and a share of the query's information must be covered. What a long message asks for is only part of
// it: beyond longQuery the share shrinks.
type floor struct{ share float32 }

const (
	smallStore = 20
	largeStore = 50
	minShare   = 0.22
	longQuery  = 25 // information of a query, in weights: four or five rare words
	longPower  = 0.3
	companion  = 0.5 // of the least, for a document that joins a better one
)

func floorFor(memories int) floor {
	grown := math.Log(float64(max(memories, smallStore))/smallStore) / math.Log(float64(largeStore)/smallStore)
	return floor{share: float32(minShare * min(grown, 1))}
}

// least is the weight a document must gather of a query of the given total.
func (f floor) least(total float32) float32 {
	if total <= longQuery {
		return f.share * total
	}
	return f.share * longQuery * float32(math.Pow(float64(total)/longQuery, longPower))
}
