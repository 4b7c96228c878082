package search

import (
	"cmp"
	"slices"
)

// posting is one document of a term: the document number in the upper 24 bits (16 million memories in a space), and the
// weighted term frequency (title and tags count twice), at most maxFrequency.
type posting uint32

const (
	maxFrequency  = 63
	metaWeight    = 2 // weight of an occurrence in title or tags
	contentWeight = 1 // weight of an occurrence in the content
)

func (p posting) doc() uint32        { return uint32(p) >> 8 }
func (p posting) frequency() float32 { return float32(p & maxFrequency) }

// postingList is the documents of one term, sorted by document number.
type postingList []posting

// find returns the position of a document, or where it would be inserted.
func (l postingList) find(doc uint32) (int, bool) {
	if n := len(l); n > 0 && l[n-1].doc() < doc {
		return n, false // new documents mostly come last
	}
	return slices.BinarySearchFunc(l, doc, func(p posting, doc uint32) int { return cmp.Compare(p.doc(), doc) })
}

// valid reports whether the list is sorted, without empty postings, and names only documents below docs.
func (l postingList) valid(docs int) bool {
	last := -1
	for _, p := range l {
		doc := int(p.doc())
		if doc <= last || p&maxFrequency == 0 {
			return false
		}
		last = doc
	}
	return last < docs
}
