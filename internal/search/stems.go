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
	begin  [shortWord]byte // of the word, beside all the rest: what is not in the processor's cache takes long
	length uint8
	weak   bool
	term   string // "" for a stop word
	word   string // in lower case
}

// shortWord is the length, in bytes, of words that need no look at their text.
const shortWord = 23

func (s *stemmed) is(word []byte) bool {
	if len(word) > shortWord {
		return s.word == string(word)
	}
	return int(s.length) == len(word) && string(s.begin[:len(word)]) == string(word)
}

// stemmed is the term of a word in lower case, kept or made.
func (l *lexicon) stemmed(word []byte) *stemmed {
	at := maphash.Bytes(hashSeed, word) % stemCount
	first, second := &l.stems[at], &l.stems[at^1]
	one := first.Load()
	if one != nil && one.is(word) {
		return one
	}
	if other := second.Load(); other != nil && other.is(word) {
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
	s := &stemmed{word: word, length: uint8(len(word))}
	copy(s.begin[:], word)
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
