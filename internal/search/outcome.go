package search

import "math/bits"

// outcome is what a document gathers of all terms.
type outcome struct {
	sum
	relevance float64
	exact     bool // otherwise it gathers no more than that
	length    float32
	held      uint64 // share.held of the terms that it holds; apart when there is more to it
}

// apart is outcome.held of a document that no other is taken to be alike.
const apart = ^uint64(0)

// most adds to what a document gathered the most that it gets from the shares of the block. The result is valid until the next call. Documents are
// often alike, one after another.
func (c *collector) most(got *sum, bit uint64, length float32) *outcome {
	d := &c.last
	if got.weight == 0 && d.length == length && d.held != apart && d.held == c.heldBy(bit) {
		return d
	}
	*d = outcome{sum: *got, exact: true, length: length}
	norm := c.norm + c.slope*length
	for i := range c.scratch.shares {
		if h := &c.scratch.shares[i]; h.docs&bit != 0 {
			d.add(h.term, h.most, norm)
			d.exact = d.exact && h.most == 1
			d.held |= h.held
		}
	}
	d.relevance = float64(d.score / c.total)
	if got.weight > 0 || len(c.common) > heldTerms {
		d.held = apart
	}
	return d
}

// heldBy is outcome.held of a document of the block.
func (c *collector) heldBy(bit uint64) (held uint64) {
	at := bits.TrailingZeros64(bit)
	for i := range c.scratch.shares {
		h := &c.scratch.shares[i]
		held |= h.held & -(h.docs >> at & 1)
	}
	return held
}

// exactly does so with what it gets.
func (c *collector) exactly(got *sum, bit uint64, length float32) outcome {
	d := outcome{sum: *got, exact: true}
	norm := c.norm + c.slope*length
	for i := range c.scratch.shares {
		if h := &c.scratch.shares[i]; h.docs&bit != 0 {
			d.add(h.term, h.posting(bit).frequency(), norm)
		}
	}
	d.relevance = float64(d.score / c.total)
	return d
}

// heldTerms is for how many common terms there is a share.held, and heldMost the highest frequency that fits into it.
const (
	heldBits  = 4
	heldTerms = 64 / heldBits
	heldMost  = 1<<heldBits - 1
)

// heldAs is share.held of the term of that number among the common ones.
func heldAs(number int, most float32) uint64 {
	if most > heldMost {
		return apart
	}
	return uint64(most) << (heldBits * number)
}
