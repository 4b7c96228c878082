package search

import (
	"cmp"
	"math"
	"slices"
)

// The evidence a space must show to be answered from.
const (
	enough      = 0.65 // of what a query asks
	askMost     = 15   // weight of what a query asks, at most: a long message need not be covered
	perTerm     = 4    // weight of each different informative term beside its own, for
	mostTerms   = 3    // that many
	missingName = 3    // weights that a name counts beside its own when the space has never heard of it
	leastShare  = 0.3  // of enough, for the smallest store
	witnesses   = 3    // memories of which one must have it
)

// Where meaning has a say, the evidence of words, in what they need by themselves and at most mostWords, and cosineWorth of the greatest
// cosine must together reach sureBoth; for a diffuse query, sureLong. A cosine of sureMeaning needs no words.
const (
	mostWords   = 2
	cosineWorth = 3
	sureBoth    = 2.1
	sureLong    = 1.7
	sureMeaning = 0.55
)

// evident reports whether a space has enough to answer with, by the words of its most relevant memories and, where that is
// calibrated, by how near it comes to what the query means.
func (c *closer) evident() bool {
	best := c.first(witnesses, func(a, b *found) int {
		if order := cmp.Compare(b.relevance, a.relevance); order != 0 {
			return order
		}
		return before(a, b)
	})
	words := c.words(best)
	near := c.nearest()
	if near == nil {
		return words >= 1
	}
	if words >= 1 && slices.ContainsFunc(best, func(place int) bool { return !c.x.meanings.rows.Has(int(c.document(place))) }) {
		return true // what has no vector yet, or never will, cannot speak for itself
	}
	need := sureBoth
	if c.r.q.diffuse() {
		need = sureLong
	}
	return near[0].cosine >= sureMeaning || min(words, mostWords)+cosineWorth*near[0].cosine >= need
}

// diffuseFrom is from how many terms on a query is a message that is near to nothing in particular.
const diffuseFrom = 20

func (q *query) diffuse() bool { return len(q.terms) > diffuseFrom }

// nearest returns what meaning proposes, nil where it has no say.
func (c *closer) nearest() []kin {
	if !c.r.judges {
		return nil
	}
	return c.r.kindred(c.x, c.space)
}

func (c *closer) document(place int) uint32 {
	doc, _ := c.x.docOf(&c.r.pool.kept[place])
	return doc
}

// words is the greatest evidence of those memories, as a share of what words alone need. Beside the weight of what is shared
// it counts how many different informative terms are, and a name that the space has never heard of makes it a question
// about something else.
func (c *closer) words(places []int) float64 {
	asked, missing := float32(c.total), c.missing()
	need := enough * max(leastShare, smallness(len(c.x.ids))) * (min(asked, askMost) + missingName*missing)
	most := float32(0)
	for _, place := range places {
		doc := c.document(place)
		weight, terms := float32(0), 0
		for i := range c.r.q.terms {
			t := &c.r.q.terms[i]
			if _, ok := find(t.list, doc); ok {
				weight += t.weight
				switch {
				case t.kind == whole:
					terms = max(terms, 1)
				case t.informative():
					terms++
				}
			}
		}
		if terms > 0 {
			most = max(most, weight+perTerm*float32(min(terms, mostTerms)))
		}
	}
	switch {
	case most == 0:
		return 0
	case most >= need: // without a division, as its last bit would decide
		return max(1, float64(most)/float64(need))
	}
	return min(float64(most)/float64(need), math.Nextafter(1, 0))
}

// missing is the weight of the names in the query of which the space has never heard a word.
func (c *closer) missing() (weight float32) {
	terms := c.r.q.terms
	for i := range terms {
		t := &terms[i]
		if t.name == 0 {
			continue
		}
		counts := true // once for each name
		for j := range terms {
			if o := &terms[j]; o.name == t.name && (len(o.list) > 0 || o.weight > t.weight || o.weight == t.weight && j < i) {
				counts = false
			}
		}
		if counts {
			weight += t.weight
		}
	}
	return weight
}
