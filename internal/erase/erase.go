// Package erase takes texts out of other texts. It finds a text as it stands and where it is escaped as in JSON, also several times over, and
// puts a mark in its place. Erasing is idempotent: what was erased once is not changed again. It does no I/O.
package erase

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// Mark stands where a text was erased.
const Mark = "[purged]"

// MinLength is the length of the shortest text that is looked for, in characters.
const MinLength = 4

const (
	depth  = 3  // how often a text may be escaped
	rounds = 32 // after which a string that still holds a text is erased whole
	few    = 4  // texts that are looked for one by one
)

// Texts are what is to be erased. The zero value erases nothing. It is safe for concurrent use.
type Texts struct {
	list   []string         // longest first
	starts map[uint32]bool  // the first four bytes of each; nil for few
	bloom  *[1 << 10]uint64 // of a hash of them, to look at each byte quickly
}

// Allowed reports whether text can be erased: it is long enough, and no part of the mark.
func Allowed(text string) bool {
	return len([]rune(text)) >= MinLength && !strings.Contains(Mark, text)
}

// New returns the Texts of list, without those that are not Allowed.
func New(list []string) Texts {
	var t Texts
	for _, text := range list {
		if Allowed(text) {
			t.list = append(t.list, text)
		}
	}
	// The longest first: what it holds must not be marked inside it.
	slices.SortFunc(t.list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	t.list = slices.Compact(t.list)
	if len(t.list) > few {
		t.starts, t.bloom = map[uint32]bool{}, new([1 << 10]uint64)
		for _, text := range t.list {
			n := binary.LittleEndian.Uint32([]byte(text[:4]))
			t.starts[n] = true
			h := mix(n)
			t.bloom[h>>6] |= 1 << (h & 63)
		}
	}
	return t
}

func mix(n uint32) uint32 { return n * 2654435761 >> 16 }

// Len is the number of different texts.
func (t Texts) Len() int { return len(t.list) }

// plain reports whether s holds one of the texts as it stands.
func (t Texts) plain(s string) bool {
	if t.starts == nil {
		return slices.ContainsFunc(t.list, func(text string) bool { return strings.Contains(s, text) })
	}
	for i := 0; i+4 <= len(s); i++ {
		n := uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
		if h := mix(n); t.bloom[h>>6]&(1<<(h&63)) == 0 || !t.starts[n] {
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

// In reports whether data holds one of the texts, as it stands or escaped.
func (t Texts) In(data []byte) bool { return len(t.list) > 0 && t.in(string(data)) }

func (t Texts) in(s string) bool {
	if len(t.list) == 0 {
		return false
	}
	for range depth {
		if t.plain(s) {
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
	return t.plain(s)
}

// Replace puts the mark in the place of each text in s, and reports whether there was one.
func (t Texts) Replace(s string) (string, bool) {
	if !t.in(s) {
		return s, false
	}
	for range rounds {
		for _, text := range t.list {
			s = strings.ReplaceAll(s, text, Mark)
		}
		for _, text := range t.list {
			s = replaceEscaped(s, text)
		}
		if !t.in(s) {
			return s, true
		}
	}
	return Mark, true // each mark made a new occurrence with what stands beside it
}

// replaceEscaped marks text where it is escaped, at any depth.
func replaceEscaped(s, text string) string {
	level, at := []byte(s), []int32(nil)
	for range depth {
		if bytes.IndexByte(level, '\\') < 0 {
			return s
		}
		next, places := unescape(level, true)
		if len(next) == len(level) {
			return s
		}
		if at != nil { // places in level become places in s
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
				out.WriteString(Mark)
				done, i = to, i+n+len(text)
			}
			return out.String() + s[done:]
		}
	}
	return s
}

// Blank reports whether nothing but marks is left of a text.
func Blank(s string) bool { return Core(strings.ReplaceAll(s, Mark, "")) == "" }

// Core is the part of a content by which it is found in other texts: without white space and closing punctuation around it.
func Core(content string) string {
	return strings.TrimSpace(strings.TrimRight(strings.TrimSpace(content), ".!。！"))
}
