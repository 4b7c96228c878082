package redact

import (
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// The forms of this file have no keyword that could be looked for, so every word of a fitting length is compared.

// wordForms are tokens that are one word.
var wordForms = []struct {
	kind     string
	min, max int // bytes
	re       *lazyregexp.Pattern
}{
	{"discord-token", 55, 90, lazyregexp.New(`^[MNO][A-Za-z\d_-]{22,27}\.[\w-]{6,7}\.[\w-]{27,45}$`)},
	// An id and a key of 256 bits behind a dot.
	{"id-and-key", 73, 90, lazyregexp.New(`^[A-Za-z][A-Za-z0-9]{7,24}\.[0-9a-f]{64}$`)},
	{"zhipu-key", 49, 49, lazyregexp.New(`^[0-9a-f]{32}\.[A-Za-z0-9]{16}$`)},
	// A private key of Bitcoin in the wallet import format.
	{"wallet-key", 51, 52, lazyregexp.New(`^(?:5[HJK][0-9A-Za-z]{49}|[KL][1-9A-HJ-NP-Za-km-z]{51})$`)},
}

// minForm is the length of the shortest wordForm in bytes.
const minForm = 49

// appendForms appends a finding when the word s[at:end] has one of the forms.
func appendForms(list []Finding, s string, at, end int) []Finding {
	for len(s) > 0 && end > at && strings.IndexByte(".-=", s[end-1]) >= 0 {
		end--
	}
	// In NAME=VALUE the value counts.
	if i := strings.LastIndexByte(s[at:end], '='); i >= 0 {
		at += i + 1
	}
	for _, f := range wordForms {
		word := s[at:end]
		if len(word) >= f.min && len(word) <= f.max && hasDigit(word, "") && f.re.MatchString(word) {
			return append(list, Finding{f.kind, at, end})
		}
	}
	return list
}

// minCard is the length of the shortest number of a card in digits.
const minCard = 15

// cards are the first digits and the lengths of the numbers of payment cards (ISO/IEC 7812; ranges of the networks).
var cards = lazyregexp.New(`^(?:4\d{15}|5[1-5]\d{14}|2[2-7]\d{14}|6(?:011|5\d\d|2\d\d)\d{12,15}|35\d{14}` +
	`|3[47]\d{13})$`)

// cardNumbers finds numbers of payment cards, in one piece or in groups.
func cardNumbers(s string) (list []Finding) {
	for at := 0; at < len(s); {
		if !isDigitByte(s[at]) {
			at++
			continue
		}
		end, n := digitGroups(s, at)
		if n >= minCard && n <= 19 && startsNumber(s, at) && endsNumber(s, end) {
			if digits := betweenGroups.Replace(s[at:end]); cards.MatchString(digits) && luhn(digits) {
				list = append(list, Finding{"card-number", at, end})
			}
		}
		at = end
	}
	return list
}

// digitGroups returns the offset behind the digits from offset at on, and how many these are; one space or hyphen may
// separate them.
func digitGroups(s string, at int) (end, digits int) {
	for ; at < len(s); at++ {
		switch c := s[at]; {
		case isDigitByte(c):
			digits++
		case (c == ' ' || c == '-') && at+1 < len(s) && isDigitByte(s[at+1]):
		default:
			return at, digits
		}
	}
	return at, digits
}

// betweenGroups removes what separates groups of digits.
var betweenGroups = strings.NewReplacer(" ", "", "-", "")

// startsNumber and endsNumber report whether a number is no part of a longer word, such as an identifier or a fraction.
func startsNumber(s string, at int) bool {
	return at == 0 || !isTokenByte(s[at-1]) || s[at-1] == '='
}

func endsNumber(s string, end int) bool {
	if end == len(s) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(s[end:])
	return !isTokenByte(s[end]) || next == '.' && (end+1 == len(s) || !isDigitByte(s[end+1]))
}

func isDigitByte(c byte) bool { return c >= '0' && c <= '9' }

// personNumber is a Chinese identity number: region, date of birth, sequence, check digit (GB 11643).
var personNumber = lazyregexp.New(`^[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx]$`)

// identityNumbers finds identity numbers whose check digit is right.
func identityNumbers(s string) (list []Finding) {
	const length = 18
	for at := 0; at+length <= len(s); at++ {
		if !isDigitByte(s[at]) {
			continue
		}
		end := at
		for end < len(s) && (isDigitByte(s[end]) || end == at+length-1 && s[end]|0x20 == 'x') {
			end++
		}
		if end-at == length && startsNumber(s, at) && endsNumber(s, end) && personNumber.MatchString(s[at:end]) &&
			"10x98765432"[weightedSum(s[at:end-1])%11] == s[end-1]|0x20 {
			list = append(list, Finding{"identity-number", at, end})
		}
		at = end
	}
	return list
}

// weightedSum is the sum of the digits, each times a power of two modulo 11 (ISO 7064, MOD 11-2).
func weightedSum(digits string) (sum int) {
	weight := 1
	for i := len(digits) - 1; i >= 0; i-- {
		weight = weight * 2 % 11
		sum += weight * int(digits[i]-'0')
	}
	return sum
}

// luhn reports whether the check digit is right and the number is not one digit repeated.
func luhn(digits string) bool {
	sum, same := 0, true
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		same = same && digits[i] == digits[0]
	}
	return sum%10 == 0 && !same
}
