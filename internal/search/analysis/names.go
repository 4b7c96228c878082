package analysis

import "strings"

// CapitalsMeaningful reports whether capitals mark names in a text: not when most words begin with one.
func CapitalsMeaningful(text string) bool {
	upper, words := 0, 0
	for w := range strings.FieldsSeq(text) {
		if r, _ := decodeRune(w, 0); isLetter(r) {
			words++
			if isUpper(r) {
				upper++
			}
		}
	}
	return 2*upper <= words
}

// IsNameAt reports whether the word at byte i begins with a capital that does not begin a sentence.
func IsNameAt(text string, i int) bool {
	if r, _ := decodeRune(text, i); !isUpper(r) {
		return false
	}
	before := strings.TrimRight(text[:i], " \t\n\"'“‘([")
	return before != "" && !strings.ContainsRune(".?!:。？！：", rune(before[len(before)-1])) &&
		before[len(before)-1] < 0x80
}

// CutSpeaker cuts "NAME: text", with an ASCII or a full-width colon.
func CutSpeaker(s string) (speaker, text string, ok bool) {
	for _, colon := range []string{":", "："} {
		if speaker, text, ok = strings.Cut(s, colon); ok && !strings.ContainsAny(speaker, " .,/") {
			return speaker, text, true
		}
	}
	return "", s, false
}
