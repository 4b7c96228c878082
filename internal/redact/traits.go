package redact

import (
	"math"
	"math/bits"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// traits are facts about a text that one pass over its bytes finds. A rule whose expression needs more than the text
// has is not run.
type traits struct {
	bytes  byteSet
	run    int  // length of the longest sequence of printing ASCII bytes without a space
	token  int  // length of the longest sequence of token bytes
	digits int  // how many there are
	mixed  bool // some word of printing ASCII bytes can satisfy looksMixed
}

// byteSet is a set of bytes.
type byteSet [4]uint64

func (b *byteSet) add(c byte) { b[c>>6] |= 1 << (c & 63) }

func (b *byteSet) has(c byte) bool { return b[c>>6]&(1<<(c&63)) != 0 }

func (b *byteSet) len() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// meets reports whether two sets have a byte in common.
func (b *byteSet) meets(o *byteSet) bool {
	return b[0]&o[0]|b[1]&o[1]|b[2]&o[2]|b[3]&o[3] != 0
}

// What a byte is, as bits of kindsOfBytes.
const (
	tokenKind = 1 << iota
	digitKind
	letterKind
	symbolKind // common in passwords and rare in words
	printKind
	endKind       // what every check of a value in prose removes behind it
	separatorKind // see separators
)

// kindsOfBytes is filled at the start, which takes less than a microsecond.
var kindsOfBytes = func() (kinds [256]uint8) {
	for i := range 128 {
		c, r := byte(i), rune(i)
		set := func(kind uint8, is bool) {
			if is {
				kinds[c] |= kind
			}
		}
		set(tokenKind, isTokenByte(c))
		set(digitKind, isDigit(r))
		set(letterKind, class(c) == 'l' || class(c) == 'u')
		set(symbolKind, isSymbol(r))
		set(printKind, c > ' ' && c <= '~')
	}
	for _, c := range []byte(`,;.)}]"'!?`) {
		kinds[c] |= endKind
	}
	for _, c := range []byte(separators) {
		kinds[c] |= separatorKind
	}
	return kinds
}()

// traitsOf looks at every byte of s once.
func traitsOf(s string) (t traits) {
	var run, token, digits int // of the present word
	var kinds, last uint8      // of it, and those before its end
	for i := range len(s) {
		c := s[i]
		k := kindsOfBytes[c]
		t.bytes.add(c)
		if k&tokenKind != 0 {
			token++
		} else {
			t.token, token = max(t.token, token), 0
		}
		if k&printKind == 0 {
			t.closeWord(run, digits, last)
			run, digits, kinds, last = 0, 0, 0, 0
			continue
		}
		run++
		if k&digitKind != 0 {
			digits++
		}
		kinds |= k
		if k&endKind == 0 {
			last = kinds
		}
	}
	t.token = max(t.token, token)
	t.closeWord(run, digits, last)
	return t
}

// closeWord counts a word: its length, its digits, and what its bytes are without the punctuation behind it.
func (t *traits) closeWord(run, digits int, kinds uint8) {
	t.run = max(t.run, run)
	t.digits += digits
	t.mixed = t.mixed || kinds&symbolKind != 0 || kinds&(letterKind|digitKind) == letterKind|digitKind || digits >= 6
}

// need is what a text must have for an expression to match: a byte of each set, and a sequence of printing bytes. It
// follows from the expression, so a rule cannot state it wrongly.
type need struct {
	sets []byteSet
	run  int
}

// derived is what follows from the expression of a shape.
type derived struct {
	need  need
	group int  // of the value, 0 when none has its name
	mixed bool // the shape asks for looksMixed, and its value is one word of printing ASCII bytes
}

// derive reads the expression of a shape.
func derive(expr string, mixed bool) (d derived) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic("redact: " + err.Error()) // lazyregexp panics for it, too
	}
	d.group = max(0, slices.Index(re.CapNames(), "v"))
	d.mixed = mixed && printsValue(re)
	d.need.require(re)
	return d
}

// printsValue reports whether the value of an expression consists of printing ASCII bytes.
func printsValue(re *syntax.Regexp) bool {
	if re.Op == syntax.OpCapture && re.Name == "v" {
		bytes, ok := bytesOf(repeated(re.Sub[0]))
		return ok && bytes.prints()
	}
	return slices.ContainsFunc(re.Sub, printsValue)
}

// repeated is what a repetition repeats.
func repeated(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpRepeat, syntax.OpPlus, syntax.OpStar:
		return re.Sub[0]
	}
	return re
}

// canMatch reports whether a text with these traits can hold a value of this shape.
func (p *shape) canMatch(t *traits) bool {
	d := p.derived()
	if d.mixed && !t.mixed || t.run < d.need.run {
		return false
	}
	for i := range d.need.sets {
		if !d.need.sets[i].meets(&t.bytes) {
			return false
		}
	}
	return true
}

// require adds what every match of re has.
func (n *need) require(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			n.require(sub)
		}
	case syntax.OpRepeat:
		if re.Min > 0 {
			n.require(re.Sub[0])
		}
		if bytes, ok := bytesOf(re.Sub[0]); ok && bytes.prints() {
			n.run = max(n.run, re.Min)
		}
	case syntax.OpAlternate:
		n.requireSome(re.Sub)
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			n.addSet(bytesOfRune(r, re.Flags))
		}
	case syntax.OpCharClass:
		bytes, _ := bytesOf(re)
		n.addSet(bytes)
	}
}

// requireSome adds what a match of each of the alternatives has.
func (n *need) requireSome(list []*syntax.Regexp) {
	var union byteSet
	run, sets := math.MaxInt, true
	for _, re := range list {
		var of need
		of.require(re)
		run = min(run, of.run)
		if sets = sets && len(of.sets) > 0; sets {
			for i, word := range of.sets[0] {
				union[i] |= word
			}
		}
	}
	n.run = max(n.run, run)
	if sets {
		n.addSet(union)
	}
}

// addSet adds a set of which a text must have a byte, when that tells texts apart: most have letters and spaces.
func (n *need) addSet(b byteSet) {
	usual := byteSet{1 << ' '}
	for c := byte('a'); c <= 'z'; c++ {
		usual.add(c)
		usual.add(c - 'a' + 'A')
	}
	if !b.meets(&usual) {
		n.sets = append(n.sets, b)
	}
}

// prints reports whether the set has printing bytes only.
func (b *byteSet) prints() bool {
	for c := range 256 {
		if kindsOfBytes[c]&printKind == 0 && b.has(byte(c)) {
			return false
		}
	}
	return true
}

// bytesOf returns the bytes with which a character of a class can begin; false when re is not one character.
func bytesOf(re *syntax.Regexp) (b byteSet, ok bool) {
	switch {
	case re.Op == syntax.OpCapture:
		return bytesOf(re.Sub[0])
	case re.Op == syntax.OpLiteral && len(re.Rune) == 1:
		return bytesOfRune(re.Rune[0], re.Flags), true
	case re.Op != syntax.OpCharClass:
		return b, false
	}
	for i := 0; i+1 < len(re.Rune); i += 2 {
		if low := re.Rune[i]; low == re.Rune[i+1] && (low == '\u017f' || low == '\u212a') {
			continue // the long s and the sign of Kelvin, which (?i) adds to s and k: no secret has them
		}
		for c := int(leadByte(re.Rune[i])); c <= int(leadByte(re.Rune[i+1])); c++ {
			b.add(byte(c))
		}
	}
	return b, true
}

// bytesOfRune returns the bytes with which a literal character can begin.
func bytesOfRune(r rune, flags syntax.Flags) (b byteSet) {
	b.add(leadByte(r))
	if low := r | 0x20; flags&syntax.FoldCase != 0 && low >= 'a' && low <= 'z' {
		b.add(byte(low))
		b.add(byte(low) - 'a' + 'A')
	}
	return b
}

// leadByte is the first byte of r in UTF-8.
func leadByte(r rune) byte {
	var buf [utf8.UTFMax]byte
	utf8.EncodeRune(buf[:], r)
	return buf[0]
}
