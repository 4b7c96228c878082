package search

import (
	"cmp"
	"slices"
)

// The first stage looks at every document of a source, with words, cosines and dates alone, and keeps the best as
// candidates. How many does not depend on how many hits are asked for: asking for more must not change the first.
const (
	evidencePool = 128 // candidates of a source
	namesPool    = 256 // candidates among which the names of the query are looked for
)

// sumCosines sets the cosines of all documents. Texts of collections have no vectors.
func (c *evidenceCollector) sumCosines() {
	c.scratch.cosines = slices.Grow(c.scratch.cosines[:0], len(c.index.docs))[:len(c.index.docs)]
	clear(c.scratch.cosines)
	c.cosines = c.scratch.cosines
	if c.source.isCollection() {
		return
	}
	for i, q := range c.queries {
		if q.Vector.Dim() == 0 {
			continue
		}
		c.index.vectors[i].rows.Cosines(q.Vector, func(doc int, cosine float64) { c.cosines[doc] += float32(cosine) })
		c.vectorsUsed = c.vectorsUsed || c.index.vectors[i].rows.Dim() == q.Vector.Dim()
	}
}

// ownWords is BM25 of a document as a share of its upper bound, 0 to 1. The bound is that of the query, so that a query
// of many words of which a memory holds one gives little.
func (c *evidenceCollector) ownWords(doc uint32) float64 {
	if c.total == 0 {
		return 0
	}
	return float64(c.scratch.sums[doc].score) / c.total
}

// neighborWords is the sum of the words of the documents before and after it in its session.
func (c *evidenceCollector) neighborWords(doc uint32) (sum float64) {
	links := c.index.links[doc]
	if links.previous != noDoc {
		sum += c.ownWords(links.previous)
	}
	if links.next != noDoc {
		sum += c.ownWords(links.next)
	}
	return sum
}

// evidenceOf is the evidence of a document that needs no second look.
func (c *evidenceCollector) evidenceOf(doc uint32) docEvidence {
	own := c.ownWords(doc)
	w := docEvidence{
		doc: doc, own: own, words: own + float64(sessionSpread*c.neighborWords(doc)),
		cosine: float64(c.cosines[doc]), date: c.dateShare(doc),
	}
	w.first = c.firstSum(&w)
	return w
}

// selectFirst fills the pool with the best documents by first.
func (c *evidenceCollector) selectFirst() {
	limit := max(evidencePool, c.ranking.pool.limit)
	wide := max(namesPool, limit)
	threshold := lessThanAny
	for doc := range c.index.docs {
		w := c.evidenceOf(uint32(doc))
		if w.first < threshold || w.first == 0 || !c.admitsDoc(w.doc) {
			continue
		}
		c.pool = append(c.pool, w)
		if len(c.pool) == 4*wide { // amortised selection: sort once for three quarters of the pool
			threshold = c.keepFirst(wide)
		}
	}
	c.keepFirst(wide)
	c.addNames() // before the cut, because a name can lift a memory into the pool
	c.addRelations()
	c.keepFirst(limit)
	for i := range c.pool {
		c.byDoc[c.pool[i].doc] = i
	}
}

// firstSum is the evidence by which candidates are selected.
func (c *evidenceCollector) firstSum(w *docEvidence) float64 {
	return float64(wordWeight*w.words) + w.cosine + float64(dateWeight*w.date)
}

// keepFirst keeps the n best by first and returns the least of them, or less than any when there is room for more.
// Among equals those stay that Balanced puts first.
func (c *evidenceCollector) keepFirst(n int) float64 {
	slices.SortFunc(c.pool, func(a, b docEvidence) int {
		if order := cmp.Compare(b.first, a.first); order != 0 {
			return order
		}
		features, docs := c.index.features, c.index.docs
		fa, fb := &features[a.doc], &features[b.doc]
		return cmp.Or(cmp.Compare(c.freshness(fb), c.freshness(fa)), compareNewest(fa, fb, docs[a.doc], docs[b.doc]))
	})
	c.pool = c.pool[:min(n, len(c.pool))]
	if len(c.pool) < n {
		return lessThanAny
	}
	return c.pool[n-1].first
}

// admitsDoc reports whether the request admits a document.
func (c *evidenceCollector) admitsDoc(doc uint32) bool {
	return c.index.admits(c.ranking, doc)
}
