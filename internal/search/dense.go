package search

import "math"

// Documents are looked at in blocks of as many as a word has bits.
const (
	blockShift = 6
	blockMask  = 1<<blockShift - 1
)

// A term is dense from this many documents on, and from this share of all; a thin one is walked faster than skipped.
const (
	denseLeast = 1024
	denseShare = 32
	thinShare  = 4 // of denseLeast; below, a term is dense no more
)

// dense is what the index keeps beside the list of a dense term, by block of documents. Blocks behind the last one hold no
// document of the term.
type dense []cell

// cell is what is kept of one block.
type cell struct {
	docs uint64  // the documents that hold the term, one bit each
	at   uint32  // where the postings of the block begin in the list
	ease float32 // at most norm/frequency of any of them, with index.slope; +Inf when there is none
	most uint8   // at least the frequency of any of them
}

// reach makes room for a block. size is the length of the list before anything of that block joins it.
func (d *dense) reach(block, size int) {
	for len(*d) <= block {
		*d = append(*d, cell{at: uint32(size), ease: float32(math.Inf(1))})
	}
}

// join takes up a posting that was put into a list of the given size, before it joined.
func (d *dense) join(p posting, ease float32, size int) {
	b := int(p.doc() >> blockShift)
	d.reach(b, size)
	d.hold(p, ease)
	for i := b + 1; i < len(*d); i++ {
		(*d)[i].at++
	}
}

// hold makes the bounds of a block hold for a posting of it.
func (d dense) hold(p posting, ease float32) {
	c := &d[p.doc()>>blockShift]
	c.docs |= 1 << (p.doc() & blockMask)
	c.ease = min(c.ease, ease)
	c.most = max(c.most, uint8(p&maxFrequency))
}

// leave forgets a posting. The bounds of its block may become loose; they stay bounds.
func (d dense) leave(doc uint32) {
	b := int(doc >> blockShift)
	if d[b].docs &^= 1 << (doc & blockMask); d[b].docs == 0 {
		d[b].ease, d[b].most = float32(math.Inf(1)), 0
	}
	for i := b + 1; i < len(d); i++ {
		d[i].at--
	}
}

// denseFrom is the number of documents from which a term is dense.
func (x *index) denseFrom() int { return max(x.denseLeast, len(x.docs)/denseShare) }

// denseOf returns what is kept beside the list of a term, nil when it is thin.
func (x *index) denseOf(term uint32) *dense {
	if len(x.lists[term]) < x.denseLeast/thinShare {
		return nil
	}
	return x.dense[term]
}

// easeOf is norm/frequency of a posting, with the slope that all bounds are kept for.
func (x *index) easeOf(p posting) float32 {
	return (k1*(1-bNorm) + x.slope*x.facts[p.doc()].length) / p.frequency()
}

// thicken makes a term dense.
func (x *index) thicken(term uint32) {
	if x.slope == 0 {
		_, x.slope = x.lengthNorms()
	}
	d := &dense{}
	for i, p := range x.lists[term] {
		d.reach(int(p.doc()>>blockShift), i)
		d.hold(p, x.easeOf(p))
	}
	x.dense[term] = d
}

// tighten makes all bounds anew: those of a list that lost documents are loose, those made for another average length
// as well, and a term that was dense in a small index may be thin in a larger one. It notes where documents have moved to in their courses, too.
func (x *index) tighten() {
	x.dense = map[uint32]*dense{}
	x.slope, x.loose, x.tight = 0, 0, len(x.docs)
	for term, list := range x.lists {
		if len(list) >= x.denseFrom() {
			x.thicken(uint32(term))
		}
	}
	for _, list := range x.courses {
		for at, doc := range list {
			x.placed[doc] = uint32(at)
		}
	}
}

// The bounds are made anew when the average length has moved by this share, and when that share of the documents changed.
const (
	drift   = 0.1
	staling = 0.25
)

// settleLocked ends a change of one document.
func (x *index) settleLocked() {
	if len(x.dense) == 0 {
		return
	}
	_, b := x.lengthNorms()
	if b > x.slope*(1+drift) || b < x.slope*(1-drift) || float64(x.loose) > staling*float64(len(x.docs)) || len(x.docs) > 2*x.tight+x.denseLeast {
		x.tighten()
	}
}

// easing returns a factor for ease that makes it a bound under the present slope.
func (x *index) easing(slope float32) float32 {
	if x.slope == 0 {
		return 1
	}
	return min(1, slope/x.slope) * slack
}
