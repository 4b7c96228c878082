package recall

import (
	"unicode"
	"unicode/utf8"
)

// Costs in hundredths of a token, fitted to the samples in testdata/tokens.
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

// Tokens estimates the tokens of s. For English, Chinese and code of some length it is within 15 % of the o200k_base
// encoding; the encodings of different models differ by more. It takes time linear in len(s).
func Tokens(s string) int { return ceilTokens(tokenCost(s)) }

// ceilTokens converts a cost in hundredths to tokens, rounded up.
func ceilTokens(shares int) int { return (shares + 99) / 100 }

// tokenCost estimates s in hundredths of a token. The costs of lines add up to the cost of the text if no line begins
// with white space.
func tokenCost(s string) (sum int) {
	for i := 0; i < len(s); {
		n, share := tokenAt(s[i:])
		i += n
		sum += share
	}
	return sum
}

// tokenAt returns the length in bytes of the token at the start of s, and its cost.
func tokenAt(s string) (n, share int) {
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
		return spaceToken(s)
	case c < utf8.RuneSelf:
		if n = repetitionLength(s, 1); n > 1 {
			return n, tokenPunct
		}
		for n < len(s) && n < 2 && isPunct(s[n]) {
			n++
		}
		return max(n, 1), tokenPunct
	}
	r, n := utf8.DecodeRuneInString(s)
	if !unicode.IsLetter(r) {
		n = repetitionLength(s, n)
	}
	return n, runeCost(r)
}

// repetitionLength returns the length of the first n bytes of s and their repetitions, such as a line of dashes.
func repetitionLength(s string, n int) int {
	const most = 12 // repetitions in one token
	end := n
	for end < n*most && len(s) >= end+n && s[end:end+n] == s[:n] {
		end += n
	}
	return end
}

// spaceToken returns the length and cost of white space. One space is part of the following word, unless a number
// follows.
func spaceToken(s string) (n, share int) {
	for n < len(s) && (s[n] == ' ' || s[n] == '\t') {
		n++
	}
	if n > 1 || n < len(s) && isDigit(s[n]) {
		return max(n, 1), tokenWord
	}
	return max(n, 1), 0
}

// runeCost returns the cost of a character outside ASCII.
func runeCost(r rune) int {
	switch {
	case unicode.Is(unicode.Han, r):
		return tokenHan
	case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar):
		return tokenOtherRune
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return tokenOtherWord
	case unicode.IsPunct(r) || unicode.IsSpace(r) || r == utf8.RuneError:
		return tokenWidePunct
	}
	return tokenRareSymbol
}

// wordLength returns the length of the word at the start of s. An upper-case letter after a lower-case one starts
// another word.
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
