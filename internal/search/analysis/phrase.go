package analysis

import "strings"

// FoldPhrase folds a text for a literal comparison: lower case, white space joined, no punctuation at the ends.
func FoldPhrase(text string) string {
	return strings.Trim(strings.Join(strings.Fields(strings.ToLower(text)), " "), " .,;:!?\"'`()[]。，；：！？「」“”‘’、")
}

// ContainsPhrase reports whether a text contains a folded phrase at word boundaries, in any case.
func ContainsPhrase(text, phrase string) bool {
	if len(text) < len(phrase) || IsASCII(text) && !mayContainPhrase(text, phrase) {
		return false
	}
	text = FoldPhrase(Normalize(text))
	at := strings.Index(text, phrase)
	if at < 0 {
		return false
	}
	end := at + len(phrase)
	return (at == 0 || !IsASCIIWord(text[at-1]) || !IsASCIIWord(phrase[0])) &&
		(end == len(text) || !IsASCIIWord(text[end]) || !IsASCIIWord(phrase[len(phrase)-1]))
}

// mayContainPhrase reports whether an ASCII text contains the first word of a phrase, in any case. It saves folding
// most texts.
func mayContainPhrase(text, phrase string) bool {
	first, _, _ := strings.Cut(phrase, " ")
	for i := range len(text) - len(first) + 1 {
		if strings.EqualFold(text[i:i+len(first)], first) {
			return true
		}
	}
	return false
}
