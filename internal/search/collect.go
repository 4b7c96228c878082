package search

import "math"

// collector takes the candidates of one space.
type collector struct {
	r       *ranking
	index   *index
	space   string
	scratch *scratch
	dates   bool     // a date alone proposes memories
	seen    []uint64 // what the keyword arm took, by block; nil unless another arm may propose the same

	total, least float32     // weight of the query, and what a document must hold of it
	norm, slope  float32     // of the index
	common       []queryTerm // terms that are looked up by document
	last         outcome     // of the last document looked at
	tally        *tally      // of Overlap, unless a date alone may propose memories; nil otherwise
}

// collect runs the arms on one space and keeps the best candidates. It returns how many memories matched at all.
func (r *ranking) collect(x *index, space string, s *scratch) (matched int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	dated := !r.q.topic && len(r.q.dates) > 0
	c := &collector{r: r, index: x, space: space, scratch: s, dates: dated}
	if dated || r.req.Profile == Overlap {
		c.seen = make([]uint64, len(x.docs)>>blockShift+1)
	}
	matched = c.keyword()
	if dated {
		matched += c.dated()
	} else if r.req.Profile == Overlap {
		c.categories()
	}
	c.flush()
	return matched
}

// need is the relevance below which nothing can be kept any more. It never falls.
func (c *collector) need() float64 {
	if c.seen != nil {
		return math.Inf(-1)
	}
	return c.r.outlook.least(c.r.pool.bar())
}

// unbounded reports that nothing may be left out: when another arm may propose the same, and before anything relevant was found, because whether
// there is anything decides what is said when nothing is kept.
func (c *collector) unbounded() bool { return c.seen != nil || c.r.relevant == 0 }

// barred reports that the filter of the request does not admit a document.
func (c *collector) barred(f *facts) bool { return !c.unbounded() && !c.r.sieve.passes(&f.traits) }

// hopeless reports that a document cannot be kept if its relevance is no more than that.
func (c *collector) hopeless(f *facts, relevance float64) bool {
	return !c.unbounded() && (c.r.outdone(&f.detail, relevance) || c.r.outlook.mostOf(&f.traits, relevance) < c.r.pool.bar() || !c.r.sieve.passes(&f.traits))
}

// take lets a candidate wait for others of which some may be better: when the best are judged first, the bar rises early
// and most need no look at their memories.
func (c *collector) take(d candidate) {
	if c.seen != nil {
		c.seen[d.doc>>blockShift] |= 1 << (d.doc & blockMask)
	}
	c.r.relevant++
	d.most = c.r.outlook.mostOf(&c.index.facts[d.doc].traits, d.relevance)
	if d.most < c.r.pool.bar() {
		return
	}
	if c.scratch.batch = append(c.scratch.batch, d); len(c.scratch.batch) >= max(leastBatch, c.r.pool.limit) {
		c.flush()
	}
}

// flush judges what waits, roughly the best first.
func (c *collector) flush() {
	s := c.scratch
	low, high := math.Inf(1), math.Inf(-1)
	for i := range s.batch {
		low, high = min(low, s.batch[i].most), max(high, s.batch[i].most)
	}
	if high > low && !math.IsInf(high, 1) {
		s.sorted = roughly(s.sorted, s.batch, func(d *candidate) float64 { return (d.most - low) / (high - low) })
		s.batch, s.sorted = s.sorted, s.batch
	}
	for i := range s.batch {
		if d := &s.batch[i]; d.most >= c.r.pool.bar() && !c.r.outdone(&c.index.facts[d.doc].detail, d.relevance) {
			c.r.judge(c.index, c.space, d)
		}
	}
	s.batch = s.batch[:0]
}

// dated is the arm of queries that name nothing but a time: everything of that time.
func (c *collector) dated() (matched int) {
	for doc, m := range c.index.docs {
		if m != nil && c.r.onDate(m) && !c.saw(doc) {
			matched++
			c.take(candidate{doc: uint32(doc), relevance: dateOnly, sure: true, dated: true})
		}
	}
	return matched
}

// categories is the arm of Overlap for memories that only their category connects with the query.
func (c *collector) categories() {
	if c.tally != nil && !c.tally.named {
		return
	}
	for doc, m := range c.index.docs {
		if c.tally != nil && c.tally.categories[c.index.facts[doc].traits.marks&0xff] == 0 {
			continue
		}
		if m != nil && c.r.inCategory(m) > 0 && !c.saw(doc) {
			c.take(candidate{doc: uint32(doc), sure: true})
		}
	}
}

func (c *collector) saw(doc int) bool { return c.seen[doc>>blockShift]&(1<<(doc&blockMask)) != 0 }
