package lazyregexp

import (
	"math/bits"
	"strings"
)

// literals looks for any of many texts in one pass: three bytes at each place select the few texts that begin so, and
// these are compared (Karp and Rabin, 1987). It does not change once it is made.
type literals struct {
	requirement
	// shift leaves as many bits of a hash as there are buckets.
	shift uint
	// first is the first text of each bucket, plus 1; next is the one behind a text, plus 1.
	first, next []uint16
	// pairs has a bit for each hash of the texts of two bytes, nil when there are none. Others may have the same hash.
	pairs *[64]uint64
	// bytes are the texts of one byte, nil when there are none.
	bytes *[256]bool
	// longer says that there are texts of more than one byte.
	longer bool
	// width is how many bytes of a text at the start are hashed.
	width int
}

// newLiterals returns a search for what r requires.
func newLiterals(r requirement) *literals {
	size := max(bits.Len(uint(len(r.texts)))+3, 6) // some eight buckets for each text
	l := &literals{requirement: r, shift: uint(32 - size), first: make([]uint16, 1<<size),
		next: make([]uint16, len(r.texts)), width: min(shortest(r.texts), 3)}
	for i, s := range r.texts {
		if r.atStart {
			l.insert(i, l.hashStart(s))
			continue
		}
		l.longer = l.longer || len(s) > 1
		switch len(s) {
		case 1:
			if l.bytes == nil {
				l.bytes = new([256]bool)
			}
			l.bytes[s[0]] = true // no letter: see selective
		case 2:
			if l.pairs == nil {
				l.pairs = new([64]uint64)
			}
			bit := pair(s[0], s[1])
			l.pairs[bit/64] |= 1 << (bit % 64)
		default:
			l.insert(i, hash(s[0], s[1], s[2]))
		}
	}
	return l
}

// insert adds text i to the bucket of a hash.
func (l *literals) insert(i int, hash uint32) {
	first := &l.first[hash>>l.shift]
	l.next[i], *first = *first, uint16(i+1)
}

// hashStart is the hash of the beginning of a text, which has width bytes at least.
func (l *literals) hashStart(s string) uint32 {
	switch l.width {
	case 1:
		return hash(lower[s[0]], 0, 0)
	case 2:
		return hash(lower[s[0]], lower[s[1]], 0)
	}
	return hash(lower[s[0]], lower[s[1]], lower[s[2]])
}

// hash is that of three bytes.
func hash(a, b, c byte) uint32 { return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9E3779B1 }

// pair is a hash of two bytes, below 4096.
func pair(a, b byte) uint32 { return (uint32(a)<<5 ^ uint32(b)) & 4095 }

// in reports whether s has what is required, whatever the case of its ASCII letters, or may have it.
func (l *literals) in(s string) bool {
	if l.fold && mayFold(s) {
		return true
	}
	if l.atStart {
		return len(s) >= l.width && l.at(l.first[l.hashStart(s)>>l.shift], s)
	}
	if l.bytes != nil && l.hasByte(s) {
		return true
	}
	if !l.longer || len(s) < 2 {
		return false
	}
	a, b := lower[s[0]], lower[s[1]]
	if l.hasPair(a, b) {
		return true
	}
	for i := 2; i < len(s); i++ {
		c := lower[s[i]]
		if l.hasPair(b, c) {
			return true
		}
		if first := l.first[hash(a, b, c)>>l.shift]; first != 0 && l.at(first, s[i-2:]) {
			return true
		}
		a, b = b, c
	}
	return false
}

// mayFold reports whether s has ſ or the Kelvin sign, which equal s and k when case is ignored.
func mayFold(s string) bool { return strings.Contains(s, "ſ") || strings.Contains(s, "\u212a") }

// hasByte reports whether s has one of the texts of one byte.
func (l *literals) hasByte(s string) bool {
	for i := range len(s) {
		if l.bytes[s[i]] {
			return true
		}
	}
	return false
}

// hasPair reports whether two bytes may be one of the texts.
func (l *literals) hasPair(a, b byte) bool {
	if l.pairs == nil {
		return false
	}
	bit := pair(a, b)
	return l.pairs[bit/64]&(1<<(bit%64)) != 0
}

// at reports whether s begins with one of the texts of a bucket, whose first is given.
func (l *literals) at(first uint16, s string) bool {
	for i := first; i != 0; i = l.next[i-1] {
		if hasLowerPrefix(s, l.texts[i-1]) {
			return true
		}
	}
	return false
}

// hasLowerPrefix reports whether s, with ASCII letters in lower case, begins with prefix.
func hasLowerPrefix(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower[s[i]] != prefix[i] {
			return false
		}
	}
	return true
}

// lowerASCII returns s with ASCII letters in lower case.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lower[c]
	}
	return string(b)
}

// lower maps the capital letters of ASCII to small ones, and other bytes to themselves.
var lower = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()
