package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is the role of a character in tokenizing.
type class uint8

const (
	classOther class = iota
	classWord        // letter, digit or mark of a script written with spaces
	classHan
	classGram // a letter of another script written without spaces, or of Korean
	classEmoji
)

// gramScripts are indexed as bigrams. Korean has spaces, but its particles are attached to the words.
var gramScripts = []*unicode.RangeTable{
	unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// classOf decides how a character is tokenized: words by spaces, Han by dictionary-free bigrams, scripts
// without spaces by n-grams, emoji one by one. ASCII and Han come first because they are nearly all there is.
func classOf(r rune) class {
	if r < utf8.RuneSelf {
		if IsASCIIWord(byte(r)) {
			return classWord
		}
		return classOther
	}
	switch {
	case r >= 0x4e00 && r <= 0x9fff:
		return classHan
	case r == utf8.RuneError:
		return classOther
	case r < 0xe00: // Latin to Indic scripts, the common case
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			return classWord
		}
		return classOther
	case unicode.Is(unicode.Han, r) && unicode.IsLetter(r):
		return classHan
	case r == 'ー':
		return classGram
	case unicode.IsLetter(r) || unicode.IsMark(r) && r < 0xfe00:
		if unicode.In(r, gramScripts...) {
			return classGram
		}
		return classWord
	case unicode.IsNumber(r):
		return classWord
	case r >= 0x1f3fb && r <= 0x1f3ff: // skin tones carry no topic
		return classOther
	case r >= 0x2190 && unicode.Is(unicode.So, r):
		return classEmoji
	}
	return classOther
}

// HasHan reports whether a text has a Chinese character.
func HasHan(s string) bool {
	for _, r := range s {
		if r >= 0x4e00 && r <= 0x9fff {
			return true
		}
	}
	return false
}

// IsASCII reports whether every byte of s is ASCII.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// IsASCIIWord reports whether b is an ASCII letter or digit.
func IsASCIIWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// isFunctionHan reports a character that carries grammar rather than meaning, such as 的 or 了.
func isFunctionHan(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff && strings.ContainsRune(functionHan, r)
}

// isKana reports a letter of the Japanese syllabaries.
func isKana(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) }

func isUpper(r rune) bool {
	return 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf && unicode.IsUpper(r)
}

func isLower(r rune) bool {
	return 'a' <= r && r <= 'z' || r >= utf8.RuneSelf && unicode.IsLower(r)
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

func isLetter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf && unicode.IsLetter(r)
}
