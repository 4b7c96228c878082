package analysis

import (
	"strings"
	"unicode"
)

// Negations counts the words and characters that negate a statement. Texts that differ in it do not say the same,
// however many words they share.
func Negations(text string) (n int) {
	if IsASCII(text) {
		return asciiNegations(text)
	}
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\'' && r != '’' || unicode.Is(unicode.Han, r)
	}) {
		if negationWords[w] || strings.HasSuffix(w, "n't") || strings.HasSuffix(w, "n’t") {
			n++
		}
	}
	for _, r := range text {
		if r >= 0x4e00 && strings.ContainsRune(negationHan, r) {
			n++
		}
	}
	return n
}

// asciiNegations is Negations of an ASCII text without allocations.
func asciiNegations(text string) (n int) {
	for i := 0; i < len(text); {
		var low [longestNegation]byte
		from := i
		for ; i < len(text) && (isLetter(rune(text[i])) || text[i] == '\''); i++ {
			if i-from < len(low) {
				low[i-from] = text[i] | 0x20 // an apostrophe has that bit
			}
		}
		if w := text[from:i]; len(w) > 0 {
			if len(w) <= len(low) && negationWords[string(low[:len(w)])] ||
				len(w) > 2 && strings.EqualFold(w[len(w)-3:], "n't") {
				n++
			}
		} else {
			i++
		}
	}
	return n
}

// negationHan are Chinese characters that negate.
const negationHan = "不没別别非无無未勿莫"

const longestNegation = 7 // bytes of a word in negationWords

var negationWords = map[string]bool{
	"not": true, "no": true, "never": true, "without": true, "neither": true, "nor": true, "none": true, "cannot": true,
	"stop": true, "avoid": true,
}
