package lazyregexp

import (
	"math/bits"
	"sync"
)

// Set tells in one pass over a text which of many patterns may match it. Rules that are tried in turn, and of which
// hardly one matches, otherwise spend most of their time on a pass for each. It is safe for concurrent use.
type Set struct {
	patterns []*Pattern
	prepare  sync.Once // sets the fields below
	// starts are what a match of each pattern begins with.
	starts [][]*literals
	// lists has a bit for each other list of texts that a match of the pattern contains one of.
	lists []uint8
	// texts are those of three bytes or more, and first is the first one of each bucket, plus 1.
	texts []setText
	first []uint16
	shift uint
	// Texts of one and of two bytes; hasPair has a bit for each hash of the latter.
	singles [256][]listOf
	pairs   map[[2]byte][]listOf
	hasPair [64]uint64
}

// listOf is a list of texts of a pattern: a bit of Set.lists.
type listOf struct {
	pattern uint16
	bit     uint8
}

// setText is a text, each once, with the lists that hold it.
type setText struct {
	text string
	in   []listOf
	next uint16 // of the same bucket, plus 1
}

// NewSet returns the set of some patterns. They are analysed when it is first used.
func NewSet(patterns ...*Pattern) *Set { return &Set{patterns: patterns} }

// Candidates returns the places of the patterns that may match s, in order. The others do not match it.
func (t *Set) Candidates(s string) []int {
	t.prepare.Do(t.analyse)
	var room [128]uint8
	missing := append(room[:0], t.lists...)
	if mayFold(s) {
		clear(missing)
	} else {
		t.pass(s, missing)
	}
	var out []int
	for i, left := range missing {
		if left == 0 && t.startsLike(i, s) {
			out = append(out, i)
		}
	}
	return out
}

// startsLike reports whether s begins with what a match of pattern i begins with.
func (t *Set) startsLike(i int, s string) bool {
	for _, l := range t.starts[i] {
		if !l.in(s) {
			return false
		}
	}
	return true
}

// pass takes out of missing the lists of which s contains a text, whatever the case of its ASCII letters.
func (t *Set) pass(s string, missing []uint8) {
	found := func(lists []listOf) {
		for _, l := range lists {
			missing[l.pattern] &^= l.bit
		}
	}
	var a, b byte
	for i := range len(s) {
		c := lower[s[i]]
		found(t.singles[c])
		if bit := pair(b, c); i >= 1 && t.hasPair[bit/64]&(1<<(bit%64)) != 0 {
			found(t.pairs[[2]byte{b, c}])
		}
		if i >= 2 {
			for n := t.first[hash(a, b, c)>>t.shift]; n != 0; n = t.texts[n-1].next {
				if hasLowerPrefix(s[i-2:], t.texts[n-1].text) {
					found(t.texts[n-1].in)
				}
			}
		}
		a, b = b, c
	}
}

// analyse collects the texts of all patterns.
func (t *Set) analyse() {
	n := 0
	for _, p := range t.patterns {
		for _, l := range p.words() {
			n += len(l.texts)
		}
	}
	size := max(bits.Len(uint(n))+2, 6) // some four buckets for each text
	t.first, t.shift, t.pairs = make([]uint16, 1<<size), uint(32-size), map[[2]byte][]listOf{}
	t.starts, t.lists = make([][]*literals, len(t.patterns)), make([]uint8, len(t.patterns))
	places := map[string]int{}
	for i, p := range t.patterns {
		bit := uint8(1)
		for _, l := range p.words() {
			if l.atStart {
				t.starts[i] = append(t.starts[i], l)
				continue
			}
			t.lists[i] |= bit
			for _, text := range l.texts {
				t.add(text, listOf{uint16(i), bit}, places)
			}
			bit <<= 1
		}
	}
}

// add adds a text of a list. places are those of the texts so far.
func (t *Set) add(text string, l listOf, places map[string]int) {
	switch len(text) {
	case 1:
		t.singles[text[0]] = append(t.singles[text[0]], l)
		return
	case 2:
		key := [2]byte{text[0], text[1]}
		bit := pair(key[0], key[1])
		t.hasPair[bit/64] |= 1 << (bit % 64)
		t.pairs[key] = append(t.pairs[key], l)
		return
	}
	n, known := places[text]
	if !known && len(t.texts) == 1<<16-1 {
		t.lists[l.pattern] &^= l.bit // there is no room: the list excludes nothing
		return
	}
	if !known {
		n = len(t.texts)
		first := &t.first[hash(text[0], text[1], text[2])>>t.shift]
		t.texts = append(t.texts, setText{text: text, next: *first})
		*first, places[text] = uint16(n+1), n
	}
	t.texts[n].in = append(t.texts[n].in, l)
}
