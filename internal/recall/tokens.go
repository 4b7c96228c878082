package recall

import (
	"unicode"
	"unicode/utf8"
)

// Shares of a token, in hundredths, fitted to the samples in testdata/tokens.
const (
	tokenWord       = 100 // a word, with the space before it
	tokenLetter     = 9   // each letter of a word beyond wordLetters
	wordLetters     = 6
	tokenDigits     = 100 // a group of up to three digits
	tokenPunct      = 85  // a run of up to two punctuation marks
	tokenBreak      = 60  // a line break, with the indentation after it
	tokenHan        = 72  // a Chinese character
	tokenWidePunct  = 85  // a punctuation mark of Chinese and the like
	tokenOtherRune  = 100 // a letter of another script without spaces between words
	tokenOtherWord  = 35  // a letter of another script with them
	tokenRareSymbol = 200 // an emoji or another rare symbol
)

// Tokens estimates how many tokens a language model sees in s. It is within 15 % of the o200k_base encoding on English, Chinese
// and code of some length; the models' own encodings differ by more than that among each other. It takes time linear in len(s).
func Tokens(s string) int { return whole(shares(s)) }

// whole is the number of tokens that shares make.
func whole(shares int) int { return (shares + 99) / 100 }

// shares of a text, in hundredths of a token. Those of lines add up to those of a text, if none begins with white space.
func shares(s string) (sum int) {
	for i := 0; i < len(s); {
		n, share := piece(s[i:])
		i += n
		sum += share
	}
	return sum
}

// piece returns the length and the share of a token of what s begins with.
func piece(s string) (n, share int) {
	c := s[0]
	switch {
	case isLetter(c):
		n = wordLength(s)
		return n, tokenWord + tokenLetter*max(0, n-wordLetters)
	case isDigit(c):
		for n < len(s) && n < 3 && isDigit(s[n]) {
			n++
		}
		return n, tokenDigits
	case c == '\n':
		for n < len(s) && (s[n] == '\n' || s[n] == ' ' || s[n] == '\t' || s[n] == '\r') {
			n++
		}
		return n, tokenBreak
	case c == ' ' || c == '\t' || c == '\r':
		return space(s)
	case c < utf8.RuneSelf:
		if n = repeated(s, 1); n > 1 {
			return n, tokenPunct
		}
		for n < len(s) && n < 2 && isPunct(s[n]) {
			n++
		}
		return max(n, 1), tokenPunct
	}
	r, n := utf8.DecodeRuneInString(s)
	if !unicode.IsLetter(r) {
		n = repeated(s, n)
	}
	return n, shareOf(r)
}

// repeated is the length of what s begins with and its repetitions, such as a line drawn of dashes. The first is of n bytes.
func repeated(s string, n int) int {
	const most = 12 // repetitions in one token
	end := n
	for end < n*most && len(s) >= end+n && s[end:end+n] == s[:n] {
		end += n
	}
	return end
}

// space belongs to the word behind it, unless a number follows or there are several.
func space(s string) (n, share int) {
	for n < len(s) && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	if n > 1 || n < len(s) && isDigit(s[n]) {
		return max(n, 1), tokenWord
	}
	return max(n, 1), 0
}

func shareOf(r rune) int {
	switch {
	case unicode.Is(unicode.Han, r):
		return tokenHan
	case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return tokenOtherRune
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return tokenOtherWord
	case unicode.IsPunct(r) || unicode.IsSpace(r) || r == utf8.RuneError:
		return tokenWidePunct
	}
	return tokenRareSymbol
}

// wordLength is the length of the word that s begins with. An upper-case letter behind a lower-case one begins another word.
func wordLength(s string) (n int) {
	for n < len(s) && isLetter(s[n]) && (n == 0 || s[n] >= 'a' || s[n-1] < 'a') {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isPunct(c byte) bool {
	return c > ' ' && c < utf8.RuneSelf && !isLetter(c) && !isDigit(c)
}
