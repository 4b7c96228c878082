package plan

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Source is a text that others are checked against: what it does not say, they may not say either. It is safe for concurrent use.
type Source struct {
	text    string // normalised, lower case
	anchors anchors
}

// NewSource reads a text.
func NewSource(text string) Source {
	return Source{text: strings.ToLower(norm.NFKC.String(text)), anchors: anchorsOf(text)}
}

// Invented returns a number or name of text that the source does not have, "" when it has them all.
func (s Source) Invented(text string) string {
	a := anchorsOf(text)
	for n := range a.Numbers {
		if !s.anchors.Numbers[n] && !containsWord(s.text, n) {
			return n
		}
	}
	for n := range a.Names {
		if !s.anchors.Names[n] && !containsWord(s.text, n) && !containsWord(s.text, strings.TrimSuffix(n, "s")) {
			return n
		}
	}
	return ""
}

// Negates reports whether a sentence says that something is not so.
func Negates(sentence string) bool { return anchorsOf(sentence).Negations > 0 }
