package redact

import (
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// The entropy rule removes long random strings of letters and digits without a harmless explanation. Lengths are in
// bytes: shorter strings are ids, longer ones are data such as images, archives or compiled code.
const (
	minRandom = 32
	maxRandom = 256
)

// highEntropy finds random strings. It passes over hexadecimal strings (hashes, UUIDs, digests), URL paths, values
// after the name of a hash function, public keys, certificates and data URIs, and what harmless.go knows.
func highEntropy(s string) (list []Finding) {
	if len(s) < minRandom {
		return nil
	}
	public := publicBlocks(s)
	for at := 0; at < len(s); {
		end := wordEnd(s, at)
		if end == at {
			_, size := utf8.DecodeRuneInString(s[at:])
			at += size
			continue
		}
		if end-at >= minForm {
			list = appendForms(list, s, at, end)
		}
		for len(public) > 0 && public[0][1] <= at {
			public = public[1:]
		}
		inBlock := len(public) > 0 && public[0][0] <= at
		if !inBlock && !isHarmless(s, at, end) {
			for _, r := range randomParts(s[at:end]) {
				named := s[max(0, at+r[0]-maxName) : at+r[0]]
				if !isPublicID(s, at+r[0], at+r[1]) && !publicName.MatchString(named) {
					list = append(list, Finding{HighEntropy, at + r[0], at + r[1]})
				}
			}
		}
		at = end
	}
	return list
}

// isTokenByte reports whether c can be part of a token: base64, base64url and separators.
func isTokenByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '+' || c == '/' || c == '=' ||
		c == '_' || c == '-' || c == '.'
}

// wordEnd returns the end of the token bytes from offset at on.
func wordEnd(s string, at int) int {
	for at < len(s) && isTokenByte(s[at]) {
		at++
	}
	return at
}

// publicBlock is a PEM block (RFC 7468) that holds no secret.
var publicBlock = lazyregexp.New(`-----BEGIN [A-Z0-9 ]*(?:CERTIFICATE|PUBLIC KEY|SIGNATURE|REQUEST)[A-Z ]*-----[^-]*`)

// publicName is the name of a public key and what stands between it and the key.
var publicName = lazyregexp.New(`(?i)pub(?:lic)?[ _-]?key["']?\s*[:=]\s*["']?$`)

// prefixedUUID is the id of a thing that is named before it, such as session_ and a UUID; keyPrefix is one that names a
// key instead.
var (
	prefixedUUID = lazyregexp.New(`^[a-z][a-z_-]{1,24}[_-][0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	keyPrefix    = lazyregexp.New(`^(?:[a-z]+[_-])*(?:sk|pk|key|apikey|api|token|secret|pat|auth|pass|password|pwd)[_-]`)
)

// publicBlocks returns the offsets of public PEM blocks.
func publicBlocks(s string) [][]int {
	if !strings.Contains(s, "-----BEGIN ") {
		return nil
	}
	return publicBlock.FindAllStringIndex(s, -1)
}

// isHarmless reports whether the word s[at:end] is too short to be a secret, or its context shows that it is none: a
// hash, a public key, a data URI or the path of a URL.
func isHarmless(s string, at, end int) bool {
	word := s[at:end]
	if len(word) < minRandom {
		return true
	}
	for _, prefix := range []string{"sha1-", "sha256-", "sha384-", "sha512-", "AAAAB3Nza", "AAAAC3Nza", "AAAAE2VjZHNh",
		"AAAAGnNr"} {
		if strings.HasPrefix(word, prefix) {
			return true
		}
	}
	if prefixedUUID.MatchString(word) && !keyPrefix.MatchString(word) {
		return true
	}
	before := s[max(0, at-512):at]
	for _, suffix := range []string{"h1:", "SHA256:", "sha256:", "base64,", "sha512:"} {
		if strings.HasSuffix(before, suffix) {
			return true
		}
	}
	named := before[max(0, len(before)-24):]
	// In the path of a URL: "https:" directly before, or no space, "?" or "#" between the scheme and the word.
	if i := strings.LastIndexAny(before, " \t\r\n\"'<>()?#，。"); i >= 0 {
		before = before[i+1:]
	}
	if publicName.MatchString(named) {
		return true
	}
	return strings.HasSuffix(before, ":") && strings.HasPrefix(word, "//") || strings.Contains(before, "://")
}

// randomParts returns the offsets of the random parts of a word. Dots separate parts, and so do slashes when the word
// looks like a path.
func randomParts(word string) (parts [][2]int) {
	split := func(c byte) bool { return c == '.' || c == '/' && pathLike(word) }
	for from := 0; from < len(word); {
		to := from
		for to < len(word) && !split(word[to]) {
			to++
		}
		lo := from
		// In NAME=VALUE only the value can be a secret.
		if i := strings.IndexByte(word[from:to], '='); i >= 0 && from+i+1 < to && word[from+i+1] != '=' {
			lo = from + i + 1
		}
		if isRandom(word[lo:to]) {
			parts = append(parts, [2]int{lo, to})
		}
		from = to + 1
	}
	return parts
}

// pathLike reports whether most segments between slashes look like words.
func pathLike(word string) bool {
	words, pieces := 0, 0
	for p := range strings.SplitSeq(word, "/") {
		if p == "" {
			continue
		}
		pieces++
		if len(p) < 24 && randomness(p) < 0.3 {
			words++
		}
	}
	return strings.HasPrefix(word, "/") && len(word) > 1 && words > 0 || pieces > 1 && 2*words > pieces
}

// isRandom reports whether s looks like a random key: at least 16 different characters, letters beyond hexadecimal,
// digits, and frequent changes between the character classes.
func isRandom(s string) bool {
	s = strings.TrimRight(s, "=")
	if len(s) < minRandom || len(s) > maxRandom {
		return false
	}
	var digits, lower, upper, letters int
	var seen byteSet
	for i := 0; i < len(s); i++ {
		c := s[i]
		seen.add(c)
		switch class(c) {
		case 'd':
			digits++
		case 'l':
			lower++
		case 'u':
			upper++
		}
		if c|0x20 >= 'g' && c|0x20 <= 'z' {
			letters++ // not a hexadecimal digit
		}
	}
	if letters < 3 || digits < 2 || seen.len() < 16 {
		return false
	}
	mixed := lower >= 4 && upper >= 4
	return randomness(s) >= 0.35 && (mixed || digits*6 >= len(s))
}

// class returns the character class of c: 'd' digit, 'l' lower case, 'u' upper case, 0 other.
func class(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return 'd'
	case c >= 'a' && c <= 'z':
		return 'l'
	case c >= 'A' && c <= 'Z':
		return 'u'
	}
	return 0
}

// randomness is the share of adjacent letters and digits that belong to different classes; separators are skipped. It
// is about 0.6 for random strings and below 0.2 for identifiers. It needs no table of frequencies, unlike Shannon
// entropy.
func randomness(s string) float64 {
	pairs, changes := 0, 0
	var last byte
	for i := 0; i < len(s); i++ {
		c := class(s[i])
		if c == 0 {
			last = 0
			continue
		}
		if last != 0 {
			pairs++
			if c != last {
				changes++
			}
		}
		last = c
	}
	if pairs == 0 {
		return 0
	}
	return float64(changes) / float64(pairs)
}
