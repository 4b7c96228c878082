package search

// docSet is a set of documents, a bit for each: of a model that reads no Chinese it has each Chinese memory. The zero
// value is empty.
type docSet []uint64

func (s docSet) has(doc uint32) bool {
	word := int(doc / 64)
	return word < len(s) && s[word]>>(doc%64)&1 != 0
}

func (s *docSet) add(doc uint32) {
	if need := int(doc/64) + 1; need > len(*s) {
		*s = append(*s, make(docSet, need-len(*s))...)
	}
	(*s)[doc/64] |= 1 << (doc % 64)
}

func (s docSet) remove(doc uint32) {
	if s.has(doc) {
		s[doc/64] &^= 1 << (doc % 64)
	}
}
