package search

// bitSet is a set of documents or terms, a bit for each: of a model that reads no Chinese it has each Chinese memory.
// The zero value is empty.
type bitSet []uint64

func (s bitSet) has(n uint32) bool {
	word := int(n / 64)
	return word < len(s) && s[word]>>(n%64)&1 != 0
}

func (s *bitSet) add(n uint32) {
	if need := int(n/64) + 1; need > len(*s) {
		*s = append(*s, make(bitSet, need-len(*s))...)
	}
	(*s)[n/64] |= 1 << (n % 64)
}

func (s bitSet) remove(n uint32) {
	if s.has(n) {
		s[n/64] &^= 1 << (n % 64)
	}
}
