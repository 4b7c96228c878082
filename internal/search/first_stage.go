package search

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// The first stage looks at every document of a source, with words, cosines and dates alone, and keeps the best as
// candidates. How many does not depend on how many hits are asked for: asking for more must not change the first.
const (
	evidencePool = 128 // candidates of a source
	namesPool    = 256 // candidates among which the names of the query are looked for
)

// partDocs is how many documents one goroutine looks at, at least: fewer take less time than the goroutine. It is a
// multiple of vector.RowsPerBlock.
const partDocs = 4 << 10

// partsOf cuts documents into parts for goroutines, at most one a processor: part i is from bound i to bound i+1,
// without the latter.
func partsOf(docs, processors int) (bounds []int) {
	parts := max(1, min(docs/partDocs, processors))
	size := (docs/parts/vector.RowsPerBlock + 1) * vector.RowsPerBlock
	for part := range parts {
		bounds = append(bounds, min(docs, part*size))
	}
	return append(bounds, docs)
}

// sumCosines sets the cosines of the documents of a part. Texts of collections have no vectors.
func (c *evidenceCollector) sumCosines(from, to int) {
	clear(c.cosines[from:to])
	if c.source.isCollection() {
		return
	}
	for i, q := range c.queries {
		if q.Vector.Dim() > 0 {
			c.index.vectors[i].rows.CosinesBetween(q.Vector, from, to, func(doc int, cosine float64) {
				c.cosines[doc] += float32(cosine)
			})
		}
	}
	if c.minilm == nil {
		return
	}
	for doc := from; doc < to; doc++ {
		if c.cosines[doc] != 0 {
			c.cosines[doc] *= float32(c.languageWeight(uint32(doc)))
		}
	}
}

// noteVectors notes whether vectors take part.
func (c *evidenceCollector) noteVectors() {
	if c.source.isCollection() {
		return
	}
	for i, q := range c.queries {
		c.vectorsUsed = c.vectorsUsed || q.Vector.Dim() > 0 && c.index.vectors[i].rows.Dim() == q.Vector.Dim()
	}
}

// ownWords is BM25 of a document as a share of its upper bound, 0 to 1. The bound is that of the query, so that a query
// of many words of which a memory holds one gives little.
func (c *evidenceCollector) ownWords(doc uint32) float64 {
	score := c.scratch.sums[doc].score
	if score == 0 || c.total == 0 { // of most documents; a division would take longer than all else
		return 0
	}
	return float64(score) / c.total
}

// neighborWords is the sum of the words of the documents before and after it in its session.
func (c *evidenceCollector) neighborWords(doc uint32) (sum float64) {
	links := c.index.links[doc].inSession()
	if links.previous != noDoc {
		sum += c.ownWords(links.previous)
	}
	if links.next != noDoc {
		sum += c.ownWords(links.next)
	}
	return sum
}

// wordsOf is the words of a document with the share of its neighbours.
func (c *evidenceCollector) wordsOf(doc uint32) float64 {
	return c.ownWords(doc) + float64(sessionSpread*c.neighborWords(doc))
}

// evidenceOf is the evidence of a document that needs no second look.
func (c *evidenceCollector) evidenceOf(doc uint32) docEvidence {
	return docEvidence{
		doc: doc, own: c.ownWords(doc), words: c.wordsOf(doc), cosine: float64(c.cosines[doc]), date: c.dateShare(doc),
		first: c.firstOf(doc),
	}
}

// selectFirst fills the pool with the best documents by first.
func (c *evidenceCollector) selectFirst() {
	docs := len(c.index.docs)
	c.scratch.cosines = slices.Grow(c.scratch.cosines[:0], docs)[:docs]
	c.cosines = c.scratch.cosines
	if i := c.modelIndex("minilm"); i >= 0 && c.minilmVector() && !c.source.isCollection() {
		c.minilm = &c.index.vectors[i].rows
	}
	c.noteVectors()
	limit := max(evidencePool, c.ranking.pool.limit)
	first := max(namesPool, limit)
	best := c.bestOfParts(first)
	slices.SortFunc(best, c.compareFirst)
	for _, e := range best[:min(first, len(best))] {
		c.pool = append(c.pool, c.evidenceOf(e.doc))
	}
	c.addNames() // before the cut, because a name can lift a memory into the pool
	c.addRelations()
	slices.SortFunc(c.pool, func(a, b docEvidence) int {
		return c.compareFirst(firstEntry{a.doc, a.first}, firstEntry{b.doc, b.first})
	})
	c.pool = c.pool[:min(limit, len(c.pool))]
	for i := range c.pool {
		c.byDoc[c.pool[i].doc] = i
	}
}

// firstEntry is a document with its evidence by which candidates are selected.
type firstEntry struct {
	doc   uint32
	first float64
}

// bestOfParts returns the n best documents of each part. It looks at the parts at the same time.
func (c *evidenceCollector) bestOfParts(n int) []firstEntry {
	bounds := partsOf(len(c.index.docs), runtime.GOMAXPROCS(0))
	bests := make([][]firstEntry, len(bounds)-1)
	look := func(part int) {
		c.sumCosines(bounds[part], bounds[part+1])
		bests[part] = c.bestBetween(bounds[part], bounds[part+1], n)
	}
	var others sync.WaitGroup
	for part := 1; part < len(bests); part++ {
		others.Go(func() { look(part) })
	}
	look(0)
	others.Wait()
	return slices.Concat(bests...)
}

// bestBetween returns the n best documents from one to another, without the latter, in any order. It sets no evidence:
// of most documents one number suffices.
func (c *evidenceCollector) bestBetween(from, to, n int) []firstEntry {
	best := make([]firstEntry, 0, n) // a heap once it is full, the worst on top
	for doc := uint32(from); doc < uint32(to); doc++ {
		e := firstEntry{doc, c.firstOf(doc)}
		switch {
		case e.first == 0 || len(best) == n && e.first < best[0].first || !c.admitsDoc(doc):
		case len(best) < n:
			if best = append(best, e); len(best) == n {
				for i := n/2 - 1; i >= 0; i-- {
					c.siftDown(best, i)
				}
			}
		case c.compareFirst(e, best[0]) < 0:
			best[0] = e
			c.siftDown(best, 0)
		}
	}
	return best
}

// siftDown restores the heap below position i.
func (c *evidenceCollector) siftDown(heap []firstEntry, i int) {
	for child := 2*i + 1; child < len(heap); child = 2*i + 1 {
		if child+1 < len(heap) && c.compareFirst(heap[child], heap[child+1]) < 0 {
			child++
		}
		if c.compareFirst(heap[i], heap[child]) >= 0 {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

// firstOf is the evidence by which candidates are selected, without names.
func (c *evidenceCollector) firstOf(doc uint32) float64 {
	return float64(wordWeight*c.wordsOf(doc)) + float64(c.cosines[doc]) + float64(dateWeight*c.dateShare(doc))
}

// compareFirst puts the better document first; among equals the one that Balanced puts first.
func (c *evidenceCollector) compareFirst(a, b firstEntry) int {
	if order := cmp.Compare(b.first, a.first); order != 0 {
		return order
	}
	features, docs := c.index.features, c.index.docs
	fa, fb := &features[a.doc], &features[b.doc]
	return cmp.Or(cmp.Compare(c.freshness(fb), c.freshness(fa)), compareNewest(fa, fb, docs[a.doc], docs[b.doc]))
}

// admitsDoc reports whether the request admits a document.
func (c *evidenceCollector) admitsDoc(doc uint32) bool {
	return c.index.admits(c.ranking, doc)
}
