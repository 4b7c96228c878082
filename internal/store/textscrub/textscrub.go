// Package textscrub removes texts from other texts. It finds a text as it is, and where it is escaped as in a JSON
// string, also several times over, and replaces it by a placeholder. Scrubbing is idempotent. The package does no I/O.
//
// Searching for many texts at once tests the first four bytes at each position against a small Bloom filter before any
// text is compared, as in R. M. Karp and M. O. Rabin, "Efficient randomized pattern-matching algorithms", IBM J. Res.
// Dev. 1987.
package textscrub

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// Placeholder replaces a text that was erased.
const Placeholder = "[purged]"

// MinLength is the length of the shortest text that can be erased, in characters. Shorter ones occur everywhere by
// chance.
const MinLength = 4

const (
	// maxEscapeDepth is how many times over a text may be escaped and still be found.
	maxEscapeDepth = 3
	// maxPasses bounds Replace. A string that still holds a text after so many passes is erased as a whole.
	maxPasses = 32
	// linearScanLimit is the number of texts up to which each is searched for by itself.
	linearScanLimit = 4
)

// Texts are the texts to erase. The zero value erases nothing. It is safe for concurrent use.
type Texts struct {
	// list is sorted by length, longest first.
	list []string
	// prefixes are the first four bytes of each text, nil up to linearScanLimit texts. MinLength makes sure that there
	// are four.
	prefixes map[uint32]bool
	// prefixFilter is a Bloom filter of prefixes with one hash: it decides most positions without a map lookup.
	prefixFilter *[1 << 10]uint64
}

// Allowed reports whether text can be erased: it is long enough, and not a part of the placeholder.
func Allowed(text string) bool {
	return len([]rune(text)) >= MinLength && !strings.Contains(Placeholder, text)
}

// New returns the Texts of list, without those that are not Allowed.
func New(list []string) Texts {
	var t Texts
	for _, text := range list {
		if Allowed(text) {
			t.list = append(t.list, text)
		}
	}
	// Longest first: replacing a text inside a longer one would leave the rest of the longer one.
	slices.SortFunc(t.list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	t.list = slices.Compact(t.list)
	if len(t.list) > linearScanLimit {
		t.prefixes, t.prefixFilter = map[uint32]bool{}, new([1 << 10]uint64)
		for _, text := range t.list {
			n := binary.LittleEndian.Uint32([]byte(text[:4]))
			t.prefixes[n] = true
			h := hashPrefix(n)
			t.prefixFilter[h>>6] |= 1 << (h & 63)
		}
	}
	return t
}

// hashPrefix maps four bytes to a bit of the filter, by Knuth's multiplicative hashing.
func hashPrefix(n uint32) uint32 { return n * 2654435761 >> 16 }

// Len is the number of distinct texts.
func (t Texts) Len() int { return len(t.list) }

// containsPlain reports whether s holds one of the texts as it is, unescaped.
func (t Texts) containsPlain(s string) bool {
	if t.prefixes == nil {
		return slices.ContainsFunc(t.list, func(text string) bool { return strings.Contains(s, text) })
	}
	for i := 0; i+4 <= len(s); i++ {
		n := uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
		if h := hashPrefix(n); t.prefixFilter[h>>6]&(1<<(h&63)) == 0 || !t.prefixes[n] {
			continue
		}
		for _, text := range t.list {
			if strings.HasPrefix(s[i:], text) {
				return true
			}
		}
	}
	return false
}

// Match reports whether data holds one of the texts, as it is or escaped.
func (t Texts) Match(data []byte) bool { return len(t.list) > 0 && t.contains(string(data)) }

// contains is Match for a string. It unescapes s up to maxEscapeDepth times.
func (t Texts) contains(s string) bool {
	if len(t.list) == 0 {
		return false
	}
	for range maxEscapeDepth {
		if t.containsPlain(s) {
			return true
		}
		if strings.IndexByte(s, '\\') < 0 {
			return false
		}
		next, _ := unescape([]byte(s), false)
		if len(next) == len(s) {
			return false
		}
		s = string(next)
	}
	return t.containsPlain(s)
}

// Replace replaces each text in s by the placeholder, and reports whether there was one.
func (t Texts) Replace(s string) (string, bool) {
	if !t.contains(s) {
		return s, false
	}
	for range maxPasses {
		for _, text := range t.list {
			s = strings.ReplaceAll(s, text, Placeholder)
		}
		for _, text := range t.list {
			s = replaceEscaped(s, text)
		}
		if !t.contains(s) {
			return s, true
		}
	}
	return Placeholder, true // each placeholder completed a new occurrence with its neighbours
}

// replaceEscaped replaces text where it is escaped, up to maxEscapeDepth times over. It searches the unescaped string
// and cuts the original where the matches came from.
func replaceEscaped(s, text string) string {
	level, at := []byte(s), []int32(nil)
	for range maxEscapeDepth {
		if bytes.IndexByte(level, '\\') < 0 {
			return s
		}
		next, places := unescape(level, true)
		if len(next) == len(level) {
			return s
		}
		if at != nil { // map positions in level to positions in s
			for i, p := range places {
				places[i] = at[p]
			}
		}
		level, at = next, places
		if bytes.Contains(level, []byte(text)) {
			var out strings.Builder
			done := 0
			for i := 0; ; {
				n := bytes.Index(level[i:], []byte(text))
				if n < 0 {
					break
				}
				from, to := int(at[i+n]), int(at[i+n+len(text)])
				out.WriteString(s[done:from])
				out.WriteString(Placeholder)
				done, i = to, i+n+len(text)
			}
			return out.String() + s[done:]
		}
	}
	return s
}

// OnlyPlaceholders reports whether nothing but placeholders is left of a text.
func OnlyPlaceholders(s string) bool { return MatchText(strings.ReplaceAll(s, Placeholder, "")) == "" }

// MatchText is the part of a content by which it is found in other texts: without surrounding white space and closing
// punctuation.
func MatchText(content string) string {
	return strings.TrimSpace(strings.TrimRight(strings.TrimSpace(content), ".!。！"))
}
