package plan

import (
	"strings"
	"unicode"

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
	return s.inventedSubject(text)
}

// afterVerb are words that follow a verb, or a noun that is no name, at the beginning of a sentence.
var afterVerb = set("the a an this that these those of to for on in at by with from and or into over about it them all some more no not")

// inventedSubject returns a capitalised word that begins a sentence, may be a name and is not in the source. What anchors take for a name is
// chosen so that nothing is missed that a rewording lost; here a word too many costs a question, and one too few a person who was never there.
func (s Source) inventedSubject(text string) string {
	text = norm.NFKC.String(text)
	spans := word.FindAllStringIndex(text, -1)
	for i, at := range spans {
		w := text[at[0]:at[1]]
		low := strings.ToLower(w)
		if !unicode.IsUpper([]rune(w)[0]) || commonStart[low] || capitalised[low] || !startsSentence(text[:at[0]]) || i+1 == len(spans) {
			continue
		}
		if strings.HasSuffix(low, "ed") || strings.HasSuffix(low, "ing") || strings.HasSuffix(low, "ly") {
			continue
		}
		next := text[spans[i+1][0]:spans[i+1][1]]
		if stem := low[:min(len(low), 5)]; !afterVerb[next] && !strings.Contains(s.text, stem) {
			return w
		}
	}
	return ""
}

// Negates reports whether a sentence says that something is not so.
func Negates(sentence string) bool { return anchorsOf(sentence).Negations > 0 }
