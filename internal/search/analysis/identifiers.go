package analysis

import (
	"slices"
	"strings"
)

// Identifier is a path, an error code, a version or an id in a text.
type Identifier struct {
	Term string // as indexed
	Text string // as written
}

// Identifiers lists the identifiers among the tokens of a normalised text: names of one thing, not words of prose.
func Identifiers(text string, tokens []Token) (all []Identifier) {
	for i := 0; i < len(tokens); {
		first := i
		for i < len(tokens) && tokens[i].Start == tokens[first].Start {
			i++
		}
		group := tokens[first:i]
		if s := text[group[0].Start:group[0].End]; IsIdentifier(s) {
			outermost := max(0, slices.IndexFunc(group, func(t Token) bool { return t.Kind == Compound }))
			all = append(all, Identifier{Term: group[outermost].Term, Text: s})
		}
	}
	return all
}

// IsIdentifier tells identifiers from words, hyphenated words, numbers, quantities and times.
func IsIdentifier(s string) bool {
	letters, digits, signs, upper, lower := 0, 0, 0, 0, 0
	humps := 0 // upper-case letters after lower-case ones
	var prev rune
	for _, r := range s {
		switch {
		case isDigit(r):
			digits++
		case isLetter(r):
			letters++
			if isUpper(r) {
				upper++
				if isLower(prev) {
					humps++
				}
			} else {
				lower++
			}
		default:
			signs++
		}
		prev = r
	}
	switch {
	case len(s) < 4:
		return false
	case strings.Contains(s, "_") || strings.Contains(s, "://"):
		return true
	case letters == 0: // versions and addresses, not numbers and times
		return signs >= 2 && strings.Count(s, ".") >= 2
	case digits > 0 && letters > 0:
		rest := strings.TrimLeft(s, "0123456789.,:-")
		quantity := len(rest) < len(s) && !strings.ContainsFunc(rest, isDigit) && len(s) < 8 // 20th, 100km
		return !quantity || strings.HasPrefix(s, "0x")
	case signs == 0:
		first, _ := decodeRune(s, 0)
		return humps > 1 || humps > 0 && isLower(first) && isLower(rune(s[1])) // getUser, not JavaScript or iPhone
	case strings.ContainsAny(s, `/\`):
		return strings.Count(s, "/")+strings.Count(s, `\`) >= 2 || strings.Contains(s, ".")
	case strings.Contains(s, "@") || strings.Contains(s, "::"):
		return true
	case strings.Contains(s, "."):
		return letters-strings.Count(s, ".") >= 3
	}
	return upper > 1 && lower == 0 // ORA-CODE, not well-known
}
