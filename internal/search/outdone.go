package search

// tally bounds the scores of Overlap, for leaving out documents that cannot be kept. What a document scores for a term looked up by document
// is known without fetching its memory; of the others, and of its category, the most.
type tally struct {
	gathered   float64      // the most that the terms score that were gathered
	anywhere   bool         // also documents that gathered nothing may hold one of those
	categories [256]float64 // what a category scores, the most of those with that hash
	named      bool         // some category scores
}

// counts reports whether Overlap counts a term. Of identifiers and pairs of characters, their words and characters count.
func (t *queryTerm) counts() bool { return t.kind != whole && t.kind != bigram }

// newTally of a space; gathered are the terms that are gathered.
func (c *collector) newTally(gathered []queryTerm) *tally {
	t := &tally{}
	for i := range gathered {
		if gathered[i].counts() {
			t.gathered += metaWeight + contentWeight
		}
		t.anywhere = t.anywhere || !gathered[i].open
	}
	for category := range c.index.categories {
		if n := c.r.wordsOf(category); n > 0 {
			most := &t.categories[hash(category)&0xff]
			*most, t.named = max(*most, float64(metaWeight*n)), true
		}
	}
	return t
}

// outdone reports that a document of the block that was divided cannot be kept by Overlap: nothing it may score is as good as what is kept,
// and of equals the newest are. Before anything relevant was found none is outdone, as with hopeless.
func (c *collector) outdone(doc uint32, own bool) bool {
	if c.r.relevant == 0 {
		return false
	}
	t := &c.index.facts[doc].traits
	if !c.r.sieve.passes(t) {
		return true
	}
	score := c.tally.categories[t.marks&0xff]
	if own || c.tally.anywhere {
		score += c.tally.gathered
	}
	bit := uint64(1) << (doc & blockMask)
	for i := range c.scratch.shares {
		h := &c.scratch.shares[i]
		if h.docs&bit == 0 || !h.term.counts() {
			continue
		}
		p := h.posting(bit)
		if p.inMeta() {
			score += metaWeight
		}
		if p.inContent() {
			score += contentWeight
		}
	}
	return c.r.pool.excludes(score, c.index.facts[doc].detail.created)
}
