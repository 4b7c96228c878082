package redact

import "strings"

// minPhrase is the number of words of the shortest seed phrase.
const minPhrase = 12

// hasPhrase reports whether s has as many words of lower-case letters in a row as a seed phrase. Numbers and
// punctuation between them do not count.
func hasPhrase(s string) bool {
	words, length := 0, 0
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' {
			length++
			continue
		}
		if length > 0 {
			words++
			if length < 3 || length > 8 {
				words = 0
			}
			length = 0
		}
		if words == minPhrase {
			return true
		}
		if !isDigitByte(c) && !strings.ContainsRune(" ,.)，\n", rune(c)) {
			words = 0
		}
	}
	return words == minPhrase-1 && length >= 3 && length <= 8
}

// seedPhrase accepts 12, 15, 18, 21 or 24 words (BIP 39) without those that sentences cannot do without.
func seedPhrase(v, _ string) bool {
	words := strings.FieldsFunc(v, func(r rune) bool { return r < 'a' || r > 'z' })
	if n := len(words); n < minPhrase || n%3 != 0 {
		return false
	}
	for _, w := range words {
		switch w {
		case "the", "and", "for", "are", "was", "with", "that", "this", "not", "your", "you", "have", "has", "from",
			"must", "should", "were", "will":
			return false
		}
	}
	return true
}
