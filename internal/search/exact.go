package search

import (
	"slices"
	"strings"
)

// exactTerm is an identifier of a query: a path, an error code, a version, an id.
type exactTerm struct {
	term string // as indexed
	text string // as written
}

// exactTerms lists the identifiers of a query: what stands for one thing and is not a word of prose.
func exactTerms(text string, tokens []token) (all []exactTerm) {
	for i := 0; i < len(tokens); {
		first := i
		for i < len(tokens) && tokens[i].start == tokens[first].start {
			i++
		}
		chunk := tokens[first:i]
		if s := text[chunk[0].start:chunk[0].end]; isIdentifier(s) {
			at := max(0, slices.IndexFunc(chunk, func(t token) bool { return t.kind == whole })) // the outermost comes first
			all = append(all, exactTerm{term: chunk[at].term, text: s})
		}
	}
	return all
}

// isIdentifier tells identifiers from words, compounds, numbers, quantities and times.
func isIdentifier(s string) bool {
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
		first, _ := decode(s, 0)
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
