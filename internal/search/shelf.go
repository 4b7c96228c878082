package search

import (
	"math/bits"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Documents that hold the same common words are put into the same blocks, so that a search for some of these words passes by most other blocks.
// It needs no sorting later: a new document goes to one of the blocks that are being filled.
const (
	mostShelves = 128 // that are open at a time,
	shelfShare  = 8   // and no more than blocks divided by this
	commonLeast = 16  // denseLeast divided by it is how many documents hold a common word, at least,
	commonShare = 64  // and so many of all divided by this
	holeShare   = 8   // the share of documents, as a divisor, from which on those of removed memories are used first
)

// shelf is a block with room.
type shelf struct {
	next uint32 // document
	held signature
	size int // bits of held
}

func (s *shelf) add(held *signature) {
	s.size += held.without(&s.held)
	for i := range held {
		s.held[i] |= held[i]
	}
}

// signature stands for a set of terms, a bit for each; two terms may share one.
type signature [4]uint64

func (s *signature) add(term uint32) {
	h := term * 2654435761 >> 24
	s[h>>6] |= 1 << (h & 63)
}

// without counts what is in s and not in o.
func (s *signature) without(o *signature) (n int) {
	for i := range s {
		n += bits.OnesCount64(s[i] &^ o[i])
	}
	return n
}

// newDocLocked is a document for a memory of these terms.
func (x *index) newDocLocked(terms []termCount) uint32 {
	shelved := len(x.docs) >= x.denseLeast // in a smaller index documents are numbered as they come
	if n := len(x.holes); n > 0 && (!shelved || n > len(x.docs)/holeShare) {
		doc := x.holes[n-1]
		x.holes = x.holes[:n-1]
		return doc
	}
	if !shelved {
		x.grow(1)
		return uint32(len(x.docs) - 1)
	}
	held := x.commonOf(terms)
	i := x.shelfFor(&held)
	s := &x.shelves[i]
	s.add(&held)
	doc := s.next
	if s.next++; s.next&blockMask == 0 { // full
		last := len(x.shelves) - 1
		*s, x.shelves = x.shelves[last], x.shelves[:last]
	}
	return doc
}

// commonOf are the common ones among the terms, whose numbers it notes.
func (x *index) commonOf(terms []termCount) (common signature) {
	least := max(x.denseLeast/commonLeast, len(x.docs)/commonShare)
	for i := range terms {
		n, ok := x.terms[terms[i].term]
		terms[i].number, terms[i].known = n, ok
		if ok && len(x.lists[n]) >= least {
			common.add(n)
		}
	}
	return common
}

// shelfFor is the shelf to which a document adds the least: of equals the one with the fewest terms, and a new one unless it adds nothing to any.
func (x *index) shelfFor(held *signature) int {
	best, least, fewest := -1, 0, 0
	for i := range x.shelves {
		s := &x.shelves[i]
		if added := held.without(&s.held); best < 0 || added < least || added == least && s.size < fewest {
			best, least, fewest = i, added, s.size
		}
	}
	if best >= 0 && (least == 0 || len(x.shelves) >= min(mostShelves, len(x.docs)>>blockShift/shelfShare)) {
		return best
	}
	x.grow(-len(x.docs) & blockMask)
	x.shelves = append(x.shelves, shelf{next: uint32(len(x.docs))})
	x.grow(blockMask + 1)
	return len(x.shelves) - 1
}

// grow adds unused documents.
func (x *index) grow(n int) {
	x.docs = append(x.docs, make([]*memory.Memory, n)...)
	x.facts = append(x.facts, make([]facts, n)...)
	x.placed = append(x.placed, make([]uint32, n)...)
}
