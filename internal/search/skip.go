package search

import (
	"math/bits"
	"slices"
)

// scratch is the working space of one search.
type scratch struct {
	sums    []sum // by document; valid for those in touched
	touched []uint32
	blocks  []block // by number

	order, spare []uint32 // numbers of blocks

	shares []share // of the block being looked at
	kept   []found // the pool
	heap   []int32

	batch, sorted []candidate // of documents that wait until there are enough to take the best first

	prepared []queryTerm     // the terms that documents hold, the heaviest first
	in       map[uint32]int  // of the closer look
	done     map[uint32]bool // whose neighbours have been looked at
	places   []int           // in the pool
	said     []said          // what the hits say
	shown    []*said         // of these, what is shown
}

// release forgets what keeps memories and lists alive.
func (s *scratch) release() {
	clear(s.kept[:cap(s.kept)])
	clear(s.prepared[:cap(s.prepared)])
	clear(s.shares[:cap(s.shares)])
	for i := range s.said {
		s.said[i].memory = nil
		clear(s.said[i].numbers)
	}
}

// leastBatch is how many candidates are put in order at a time, if not twice as many as are kept.
const leastBatch = 64

// block is what a search knows of 64 documents, one bit each.
type block struct {
	own    uint64  // they have gathered something in scratch.sums
	seen   uint64  // they hold an open term
	strong uint64  // they hold a term that can make a match
	done   uint64  // they were taken ahead of the others
	bound  float32 // the score of none of them is higher
}

// begin clears what the last search left.
func (s *scratch) begin(docs int) {
	if len(s.sums) < docs {
		s.sums = make([]sum, docs+docs/8)
	}
	blocks := (docs + blockMask) >> blockShift
	s.blocks = slices.Grow(s.blocks[:0], blocks)[:blocks]
	clear(s.blocks)
	s.touched = s.touched[:0]
}

// share is what one term can add to the documents of a block.
type share struct {
	term  *queryTerm
	docs  uint64  // that hold it
	bound float32 // no document gets more of it
	rest  float32 // the same for it and what follows
	ahead float32 // weights times most, for it and what follows
	most  float32 // the frequency of none of them is higher
	held  uint64  // most, as bits that no other of the first heldTerms terms has
	at    uint32  // where their postings begin in the list
}

// posting is that of a document of the block, which holds the term.
func (h *share) posting(bit uint64) posting {
	return h.term.list[int(h.at)+bits.OnesCount64(h.docs&(bit-1))]
}

// keyword is the keyword arm: it takes the documents that hold enough of the terms to be relevant, roughly the best first,
// but not those that cannot be among the best any more. found counts the documents that share something informative with
// the query, whether they were left out or not.
//
// The heaviest terms are mostly rare, and what documents hold of them is simply added up. From the first dense term on
// it is done by document, and only for those that may reach what is needed. Either way the terms of one document are added
// in the same order, so that its score does not depend on what is skipped.
func (c *collector) keyword() (found int) {
	x, s := c.index, c.scratch
	c.total = x.weigh(c.r.q.terms)
	if c.total == 0 {
		return 0
	}
	c.least = floorFor(len(x.ids)).least(c.total)
	s.prepared = prepare(s.prepared, c.r.q.terms, c.least)
	terms := s.prepared
	rare := slices.IndexFunc(terms, func(t queryTerm) bool { return t.dense != nil })
	if rare < 0 {
		rare = len(terms)
	}
	x.gather(s, terms[:rare])
	c.common = terms[rare:]
	if c.r.req.Profile == Overlap && !c.dates {
		c.tally = c.newTally(terms[:rare])
	}
	x.survey(s, c.common)
	found = s.schedule()
	c.norm, c.slope = x.lengthNorms()
	c.seed()
	for _, number := range s.order {
		if need := float32(c.need()) * c.total * slack; s.blocks[number].bound >= need {
			c.visit(number, need)
		}
	}
	return found
}

// mostSeeded is how many blocks are looked at for the first candidates.
const mostSeeded = 64

// seed takes as many candidates as are kept: the newest that hold the heaviest of the common terms, of each block those that have the most beside words.
// Among memories that are alike the bar is then at its height before the others are looked at.
func (c *collector) seed() {
	if c.seen != nil || len(c.r.pool.kept) > 0 || len(c.common) == 0 || c.common[0].dense == nil {
		return
	}
	s, d := c.scratch, *c.common[0].dense
	for n := len(d) - 1; n >= max(0, len(d)-mostSeeded) && len(s.batch)+len(c.r.pool.kept) < c.r.pool.limit; n-- {
		b := &s.blocks[n]
		if docs := d[n].docs & b.seen & b.strong; docs != 0 {
			b.done = c.index.yields.blocks[n].highest(docs)
			c.divide(uint32(n))
			c.takeOf(uint32(n), b.done)
		}
	}
	c.flush()
}

// visit takes the documents of a block that gather at least need and are relevant, but for those that cannot be kept.
func (c *collector) visit(number uint32, need float32) {
	b := &c.scratch.blocks[number]
	c.divide(number)
	want := b.seen & b.strong &^ b.done
	left := want & b.own
	if alone := want &^ b.own; alone != 0 && !c.overshadowed(number, alone) {
		left |= c.reach(number, alone, need)
	}
	c.takeOf(number, left)
}

// takeOf takes those of the given documents of the block that was divided that are relevant and may be kept.
func (c *collector) takeOf(number uint32, docs uint64) {
	s, bare := c.scratch, c.r.sieve.bare
	b := &s.blocks[number]
	for left := docs; left != 0; left &= left - 1 {
		bit := left & -left
		doc := number<<blockShift | uint32(bits.TrailingZeros64(left))
		f := &c.index.facts[doc]
		if !bare && c.barred(f) {
			continue
		}
		own := b.own&bit != 0
		var got sum
		if own {
			got = s.sums[doc]
		}
		d := c.most(&got, bit, f.length)
		if c.hopeless(f, d.relevance) || c.tally != nil && c.outdone(doc, own) {
			continue
		}
		if !d.exact {
			e := c.exactly(&got, bit, f.length)
			d = &e
		}
		if d.strong > 0 && d.weight >= c.least {
			c.take(candidate{doc: doc, relevance: d.relevance, coverage: d.weight / c.total})
		}
	}
}

// divide fills in the shares of a block.
func (c *collector) divide(number uint32) {
	s := c.scratch
	s.shares = s.shares[:0]
	easing := c.index.easing(c.slope)
	for i := range c.common {
		t := &c.common[i]
		if t.dense == nil {
			if h := shareOf(t, number); h.docs != 0 {
				h.held = heldAs(i, h.most)
				s.shares = append(s.shares, h)
			}
		} else if d := *t.dense; int(number) < len(d) && d[number].docs != 0 {
			cell := &d[number]
			s.shares = append(s.shares, share{term: t, held: heldAs(i, float32(cell.most)), docs: cell.docs, at: cell.at, most: float32(cell.most), bound: t.weight / (1 + cell.ease*easing)})
		}
	}
	rest, ahead := float32(0), float32(0)
	for i := len(s.shares) - 1; i >= 0; i-- {
		h := &s.shares[i]
		rest, ahead = rest+h.bound, ahead+h.term.weight*h.most
		h.rest, h.ahead = rest, ahead
	}
}

// shareOf is the share of a thin term.
func shareOf(t *queryTerm, number uint32) share {
	at, _ := find(t.list, number<<blockShift)
	h := share{term: t, at: uint32(at), bound: t.weight}
	for _, p := range t.list[at:] {
		if p.doc()>>blockShift != number {
			break
		}
		h.docs |= 1 << (p.doc() & blockMask)
		h.most = max(h.most, p.frequency())
	}
	return h
}

// reachTerms is how many terms are told apart when it is found out which documents can reach something.
const reachTerms = 8

// reach returns those of docs, which gathered nothing yet, that may gather need from the shares of the block and be kept.
func (c *collector) reach(number uint32, docs uint64, need float32) uint64 {
	return c.reachWith(c.scratch.shares, number, docs, need, gathered{}, reachTerms)
}

// gathered is the most that documents get from some shares.
type gathered struct {
	score  float32 // whatever their lengths
	weight float32 // the same by weight and frequency, before their lengths count
}

// reachWith does so for documents that have got as much from other shares. It tells no more than the given number of terms apart.
func (c *collector) reachWith(shares []share, number uint32, docs uint64, need float32, got gathered, terms int) uint64 {
	switch {
	case docs == 0:
		return 0
	case len(shares) == 0 && got.score < need, len(shares) > 0 && got.score+shares[0].rest < need:
		return 0
	case len(shares) == 0:
		return docs & c.promising(number, got.weight)
	case terms == 0:
		return docs & c.promising(number, got.weight+shares[0].ahead)
	}
	h := &shares[0]
	with := gathered{got.score + h.bound, got.weight + h.term.weight*h.most}
	return c.reachWith(shares[1:], number, docs&h.docs, need, with, terms-1) |
		c.reachWith(shares[1:], number, docs&^h.docs, need, got, terms-1)
}

// survey makes the blocks say what their documents may reach, from what was gathered and the terms that remain.
func (x *index) survey(s *scratch, terms []queryTerm) {
	for _, doc := range s.touched {
		b := &s.blocks[doc>>blockShift]
		b.bound = max(b.bound, s.sums[doc].score)
		if s.sums[doc].strong > 0 {
			b.strong |= 1 << (doc & blockMask)
		}
	}
	for i := range s.blocks {
		s.blocks[i].seen = s.blocks[i].own
	}
	_, slope := x.lengthNorms()
	easing := x.easing(slope)
	for i := range terms {
		t := &terms[i]
		open, strong := allIf(t.open), allIf(t.strong > 0)
		if t.dense == nil {
			s.surveyThin(t, open, strong)
			continue
		}
		for n := range *t.dense {
			b, cell := &s.blocks[n], &(*t.dense)[n]
			if cell.docs == 0 {
				continue
			}
			b.seen |= cell.docs & open
			b.strong |= cell.docs & strong
			b.bound += t.weight / (1 + cell.ease*easing)
		}
	}
}

// surveyThin does so for a thin term among dense ones, whose bound is its weight.
func (s *scratch) surveyThin(t *queryTerm, open, strong uint64) {
	last := -1
	for _, p := range t.list {
		n, bit := int(p.doc()>>blockShift), uint64(1)<<(p.doc()&blockMask)
		b := &s.blocks[n]
		b.seen |= bit & open
		b.strong |= bit & strong
		if n != last {
			b.bound += t.weight
		}
		last = n
	}
}

func allIf(yes bool) uint64 {
	if yes {
		return ^uint64(0)
	}
	return 0
}

// schedule puts the blocks that may hold something relevant in order, roughly the best first and of equals the newest. It
// counts the documents that hold an open term.
func (s *scratch) schedule() (found int) {
	most := float32(0)
	s.order = s.order[:0]
	for i := len(s.blocks) - 1; i >= 0; i-- {
		b := &s.blocks[i]
		found += bits.OnesCount64(b.seen)
		if b.seen&b.strong != 0 {
			b.bound *= 1 / slack
			most = max(most, b.bound)
			s.order = append(s.order, uint32(i))
		}
	}
	s.order, s.spare = roughly(s.spare, s.order, func(n *uint32) float64 { return float64(s.blocks[*n].bound / most) }), s.order
	return found
}

// roughly sorts values into steps of a key from 0 to 1, the highest first, and keeps the order within a step. It returns
// dst, grown as needed.
func roughly[T any](dst, src []T, key func(*T) float64) []T {
	const steps = 256
	step := func(v *T) int { return min(max(int((1-key(v))*steps), 0), steps-1) }
	var ends [steps + 1]uint32
	for i := range src {
		ends[step(&src[i])+1]++
	}
	for i := range steps {
		ends[i+1] += ends[i]
	}
	dst = slices.Grow(dst[:0], len(src))[:len(src)]
	for i := range src {
		at := &ends[step(&src[i])]
		dst[*at] = src[i]
		*at++
	}
	return dst
}
