package search

import "math"

// crest is the best that any document of a block has of each thing that counts, beside its words: a block of which even that is worse than what is
// kept needs no look at its documents.
type crest struct {
	detail         // accessed is the last access or creation of any
	length float32 // the least
}

// crests are those of an index, by block. They become loose when memories change, and stay bounds.
type crests []crest

// put takes up a document.
func (c *crests) put(doc uint32, f *facts) {
	for len(*c) <= int(doc>>blockShift) {
		*c = append(*c, crest{detail: detail{created: math.MinInt64, accessed: math.MinInt64}, length: float32(math.Inf(1))})
	}
	h := &(*c)[doc>>blockShift]
	h.salience, h.access = max(h.salience, f.detail.salience), max(h.access, f.access)
	h.created, h.accessed = max(h.created, f.detail.created), max(h.accessed, f.accessed, f.detail.created)
	h.pinned = h.pinned || f.pinned
	h.length = min(h.length, f.length)
}

// raise makes all crests anew.
func (x *index) raise() {
	x.crests = x.crests[:0]
	for doc := range x.facts {
		if x.docs[doc] != nil {
			x.crests.put(uint32(doc), &x.facts[doc])
		}
	}
}

// overshadowed reports that none of some documents of the block that was divided can be kept, which gathered nothing yet: the worst that is kept is
// newer than all, as good in everything, and as relevant as if one document held all they hold, as often as any does.
func (c *collector) overshadowed(number uint32, docs uint64) bool {
	if c.unbounded() {
		return false
	}
	h := &c.index.crests[number]
	if h.accessed > c.r.asOf { // it may not have happened yet: then other documents of the block are more recent
		return false
	}
	var all sum
	norm := c.norm + c.slope*h.length
	for i := range c.scratch.shares {
		if s := &c.scratch.shares[i]; s.docs&docs != 0 {
			all.add(s.term, s.most, norm)
		}
	}
	return c.r.outdone(&h.detail, float64(all.score/c.total))
}
