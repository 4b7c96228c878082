package lazyregexp

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// classes divides all characters into classes that no part of an expression tells apart.
type classes struct {
	ascii [utf8.RuneSelf]uint16
	// from is the first character of each interval, and class its class.
	from  []rune
	class []uint16
	// sets has a bit for each set of characters that holds the class.
	sets [][]uint64
	// kinds are what assertions tell apart.
	kinds []kind
}

// kind is what an assertion asks about a character.
type kind uint8

const (
	noCharacter kind = iota // the beginning or the end of the text
	newline
	wordCharacter
	otherCharacter
)

// runeOf has a character of each kind.
var runeOf = [...]rune{-1, '\n', 'a', ' '}

// kindOf returns the kind of a character.
func kindOf(r rune) kind {
	switch {
	case r == '\n':
		return newline
	case syntax.IsWordChar(r):
		return wordCharacter
	}
	return otherCharacter
}

// border is where a set begins or ends.
type border struct {
	at  rune
	set int
}

// newClasses returns the classes for some sets of characters, each pairs of first and last.
func newClasses(sets [][]rune) classes {
	// The sets of assertions: only their borders count.
	borders := []border{{0, -1}, {'\n', -1}, {'\n' + 1, -1}, {'0', -1}, {'9' + 1, -1}, {'A', -1}, {'Z' + 1, -1},
		{'_', -1}, {'_' + 1, -1}, {'a', -1}, {'z' + 1, -1}}
	for i, pairs := range sets {
		for j := 0; j < len(pairs); j += 2 {
			borders = append(borders, border{pairs[j], i}, border{pairs[j+1] + 1, i})
		}
	}
	slices.SortFunc(borders, func(a, b border) int { return int(a.at) - int(b.at) })
	c, words := classes{}, (len(sets)+63)/64
	within, known := make([]uint64, words), map[string]uint16{}
	for i := 0; i < len(borders); {
		at := borders[i].at
		for ; i < len(borders) && borders[i].at == at; i++ {
			if set := borders[i].set; set >= 0 {
				within[set/64] ^= 1 << (set % 64)
			}
		}
		if at <= unicode.MaxRune {
			c.addInterval(at, within, known)
		}
	}
	for r := range rune(utf8.RuneSelf) {
		c.ascii[r] = c.find(r)
	}
	return c
}

// addInterval adds the characters from one on, which are within some sets. known are the classes so far.
func (c *classes) addInterval(from rune, within []uint64, known map[string]uint16) {
	key := []byte{byte(kindOf(from))}
	for _, w := range within {
		for shift := 0; shift < 64; shift += 8 {
			key = append(key, byte(w>>shift))
		}
	}
	n, ok := known[string(key)]
	if !ok {
		n = uint16(len(c.sets))
		known[string(key)] = n
		c.sets, c.kinds = append(c.sets, slices.Clone(within)), append(c.kinds, kindOf(from))
	}
	if last := len(c.class) - 1; last < 0 || c.class[last] != n {
		c.from, c.class = append(c.from, from), append(c.class, n)
	}
}

// find returns the class of a character, from its interval. Those below utf8.RuneSelf have theirs in ascii, too.
func (c *classes) find(r rune) uint16 {
	low, high := 0, len(c.from)
	for high-low > 1 {
		if mid := (low + high) / 2; c.from[mid] <= r {
			low = mid
		} else {
			high = mid
		}
	}
	return c.class[low]
}

// has reports whether a class is within a set.
func (c *classes) has(class, set uint16) bool { return c.sets[class][set/64]&(1<<(set%64)) != 0 }
