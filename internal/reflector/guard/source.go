package guard

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Source is a reference text against which derived texts are checked for unsupported claims. It is safe for
// concurrent use.
type Source struct {
	text   string // normalised, lower case
	tokens protectedTokens
}

// NewSource prepares a text for checks.
func NewSource(text string) Source {
	return Source{text: strings.ToLower(norm.NFKC.String(text)), tokens: protectedTokensOf(text)}
}

// FindUnsupported returns a number or name of text that the source lacks, "" if it has them all.
func (s Source) FindUnsupported(text string) string {
	a := protectedTokensOf(text)
	for n := range a.Numbers {
		if !s.tokens.Numbers[n] && !containsWord(s.text, n) {
			return n
		}
	}
	for n := range a.Names {
		if !s.tokens.Names[n] && !containsWord(s.text, n) && !containsWord(s.text, strings.TrimSuffix(n, "s")) {
			return n
		}
	}
	return s.unsupportedSubject(text)
}

// afterVerb are words that follow a verb, or a common noun, at the start of a sentence.
var afterVerb = wordSet("the a an this that these those of to for on in at by with from and or into over about it them " +
	"all some more no not")

// unsupportedSubject returns a capitalised word at the start of a sentence that may be a name and is not in the
// source. properNames would miss many of them; here a false alarm costs one question to the model, a miss an invented
// person.
func (s Source) unsupportedSubject(text string) string {
	text = norm.NFKC.String(text)
	spans := word.FindAllStringIndex(text, -1)
	for i, at := range spans {
		w := text[at[0]:at[1]]
		low := strings.ToLower(w)
		if !unicode.IsUpper([]rune(w)[0]) || commonStart[low] || alwaysCapitalised[low] ||
			!startsSentence(text[:at[0]]) ||
			i+1 == len(spans) {
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

// Negates reports whether a sentence contains a negation.
func Negates(sentence string) bool { return protectedTokensOf(sentence).Negations > 0 }
