package memory

import "strings"

// LeastShortID is how many characters of an id name a thing at least: fewer name too much to be meant.
const LeastShortID = 4

// RandomPart is the part of a generated id that tells it from others: what stands behind its last dash. The beginning
// of a generated id is a time or a kind, which many share. It is "" for an id that a person or a host chose.
func RandomPart(id string) string {
	part := id[strings.LastIndexByte(id, '-')+1:]
	if len(part) == len(id) || len(part) < 2*LeastShortID || !isHex(part) {
		return ""
	}
	return part
}

// IsShortID reports whether a text can be the beginning of a random part.
func IsShortID(s string) bool { return len(s) >= LeastShortID && isHex(s) }

// AnswersTo reports whether an id is meant by s: the id itself, or at least LeastShortID characters with which its
// random part begins.
func AnswersTo(id, s string) bool {
	return id == s || IsShortID(s) && strings.HasPrefix(RandomPart(id), s)
}

// isHex reports whether a text has only digits of lower-case hexadecimal numbers.
func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
