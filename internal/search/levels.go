package search

import "math"

// levels bound what the documents of a block make of a word they share with a query, by their length and by their boost, in steps of one 255th,
// one bit of each document in a word: which of them can reach a score is found out with a few operations and without looking at any.
type levels [8]uint64

// put sets the level of one document.
func (l *levels) put(doc uint32, level uint8) {
	at := doc & blockMask
	for i := range l {
		l[i] = l[i]&^(1<<at) | uint64(level>>i&1)<<at
	}
}

// atLeast returns the documents of that level or a higher one.
func (l *levels) atLeast(level uint8) uint64 {
	higher, equal := uint64(0), ^uint64(0)
	for i := len(l) - 1; i >= 0; i-- {
		if level>>i&1 == 0 {
			higher |= equal & l[i]
			equal &^= l[i]
		} else {
			equal &= l[i]
		}
	}
	return higher | equal
}

// highest returns those of the documents that have the highest level of them.
func (l *levels) highest(docs uint64) uint64 {
	for i := len(l) - 1; i >= 0; i-- {
		if with := docs & l[i]; with != 0 {
			docs = with
		}
	}
	return docs
}

// topYield is the yield of a memory of no length with everything that boosts.
const topYield = 1 / (1 + k1*(1-bNorm))

// yield is the most that a score gets for a query of one word of weight 1 which the memory holds once.
func (f *facts) yield(slope, left float32) float64 {
	return (1 - boostSpan + boostSpan*float64(f.steady+boostRecency*left)) / float64(1+k1*(1-bNorm)+slope*f.length)
}

// yields are the levels of an index. What recency adds only fades, so that a bound which held at one time holds from then on.
type yields struct {
	blocks []levels
	since  int64   // the minute from which on they are bounds
	slope  float32 // of length in the norm, as they have it
	fading *fading // nil until the first aging: recency counts in full
}

// The levels are made anew after that many minutes, and when the average length has moved by that share.
const (
	yieldAge   = 12 * 60
	yieldDrift = 0.02
)

// aged reports whether the levels became loose, or are of a time that the clock has gone back behind.
func (y *yields) aged(now int64, slope float32) bool {
	return now-y.since >= yieldAge || now < y.since || slope > y.slope*(1+yieldDrift) || slope < y.slope*(1-yieldDrift)
}

// age makes tight bounds of all levels, from now on.
func (y *yields) age(all []facts, now int64, slope float32, f *fading) {
	y.since, y.slope, y.fading = now, slope, f
	for doc := range all {
		y.put(uint32(doc), &all[doc])
	}
}

// put bounds the yield of a document.
func (y *yields) put(doc uint32, f *facts) {
	for len(y.blocks) <= int(doc>>blockShift) {
		y.blocks = append(y.blocks, levels{})
	}
	left := float32(1)
	if y.fading != nil {
		left = y.fading.most(y.since - int64(f.used))
	}
	y.blocks[doc>>blockShift].put(doc, uint8(min(level(f.yield(y.slope, left))+1, 255)))
}

// level is that of a yield, rounded down.
func level(yield float64) int { return int(math.Floor(yield / topYield * 255)) }

// promising returns the documents of a block that may be kept if the weights of what they hold, times its frequency, are no more than that.
func (c *collector) promising(number uint32, weight float32) uint64 {
	o, y := &c.r.outlook, &c.index.yields
	if c.unbounded() || o.formula != balanced || o.dates || o.asOf < y.since {
		return ^uint64(0)
	}
	least := c.r.pool.bar() * float64(c.total/weight*min(1, c.slope/y.slope)) / (generous * generous)
	switch {
	case least <= 0:
		return ^uint64(0)
	case least > topYield:
		return 0
	}
	return y.blocks[number].atLeast(uint8(min(level(least)+1, 255)))
}
