package search

import (
	"cmp"
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// stemCount is how many words the stems of an engine are kept of: some 8 MB when all are there.
const stemCount = 1 << 16

// stems keeps the terms of words seen lately, because stemming one takes ten times as long as finding it here. It is a table with two places for each
// word, safe for concurrent use: what stands in a place does not change, and who puts something else there loses nothing but time.
type stems [stemCount]atomic.Pointer[stemmed]

type stemmed struct {
	word string // in lower case
	term string // "" for a stop word
	weak bool
}

// stemmed is the term of a word in lower case, kept or made.
func (l *lexicon) stemmed(word []byte) *stemmed {
	at := maphash.Bytes(hashSeed, word) % stemCount
	first, second := &l.stems[at], &l.stems[at^1]
	one := first.Load()
	if one != nil && one.word == string(word) {
		return one
	}
	if other := second.Load(); other != nil && other.word == string(word) {
		return other
	}
	made := l.stem(string(word))
	if one != nil {
		second.Store(one)
	}
	first.Store(made)
	return made
}

func (l *lexicon) stem(word string) *stemmed {
	s := &stemmed{word: word}
	if l.stop[word] {
		return s
	}
	s.term = word
	if isAlpha(word) {
		s.term = stem(cmp.Or(l.base[word], word))
	}
	if strings.HasPrefix(word, s.term) {
		s.term = word[:len(s.term)] // most are; then there is one text, not two
	}
	s.weak = l.weak[s.term]
	return s
}
