package main

import (
	"fmt"
	"strings"
	"unicode"
)

// visible escapes what a terminal obeys or hides instead of showing: control characters but line breaks and tabs, and
// on a terminal also what changes the direction of a text (Unicode Bidirectional Algorithm, UAX 9) and invisible tag
// characters, in which text for a language model can be hidden. With colours, the sequences of output.colour stay: from
// elsewhere they do nothing worse than colour.
func visible(s string, colours, terminal bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return hidden(r, terminal) }) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := colourSequence(s[i:]); colours && n > 0 {
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		r := []rune(s[i:min(i+4, len(s))])[0]
		n := len(string(r))
		if r == unicode.ReplacementChar && !strings.HasPrefix(s[i:], string(r)) {
			n = 1 // not UTF-8
		}
		switch {
		case !hidden(r, terminal):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, "\\U%08x", r)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
		i += n
	}
	return b.String()
}

// hidden reports whether a rune must be escaped.
func hidden(r rune, terminal bool) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	case !terminal:
		return false
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c ||
		r == 0x2028 || r == 0x2029 || r >= 0xe0000 && r <= 0xe007f
}

// colourSequence is the length of an escape sequence of output.colour at the beginning of s, 0 without one.
func colourSequence(s string) int {
	for _, code := range []string{"0", bold, dim, red, green, amber} {
		if sequence := "\x1b[" + code + "m"; strings.HasPrefix(s, sequence) {
			return len(sequence)
		}
	}
	return 0
}
