// Package markdownv1 reads the files of the first layout, MEMORY.md and logs/DATE.md, into memories and log
// entries. Programs, language models and people wrote them in no fixed form, so the reader is tolerant: it never
// fails. What it does not understand it keeps as text or names in a note. It does no I/O and does not decide what
// happens to the result.
//
// scan.go cuts the text into blocks (headings, paragraphs, list items), with the parts of CommonMark
// (https://spec.commonmark.org) that such files use: ATX and setext headings, list items, fenced code, HTML
// comments. vocabulary.go knows what headings mean, timestamp.go reads times, read_memories.go and read_log.go make
// memories and entries of blocks.
package markdownv1

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Note is a place in a file that was not read, or not as it was written. It holds no text of the file.
type Note struct {
	First, Last int // lines, from 1
	Detail      string
	Guess       bool // the place is outside the grammar of the first program, and was read as it probably is meant
}

// String is "line 3: …" or "lines 3-5: …".
func (n Note) String() string {
	if n.Last > n.First {
		return fmt.Sprintf("lines %d-%d: %s", n.First, n.Last, n.Detail)
	}
	return fmt.Sprintf("line %d: %s", n.First, n.Detail)
}

// Memories is what a MEMORY.md holds.
type Memories struct {
	Summary  string           // the rolling summary, at most memory.MaxSummary characters
	Memories []*memory.Memory // in the order of the file, within all limits; the same file gives the same ids
	Done     int              // how many of them are finished tasks, which are retired
	// Headings has, by id, the outermost heading below the first level that names no known category, for memories
	// below no other. It is a tag of the memory too.
	Headings map[string]string
	Notes    []Note // in the order of lines
}

// UseHeading makes a category of the heading of one word above m that names no known one, instead of a tag, for files
// whose categories are not fixed.
func (f *Memories) UseHeading(m *memory.Memory) {
	heading := f.Headings[m.ID]
	slug := strings.ToLower(heading)
	if m.Category == memory.General && memory.IsSlug(slug) && len(slug) <= memory.MaxSlug {
		m.Category = slug
		m.Tags = slices.DeleteFunc(m.Tags, func(tag string) bool { return tag == heading })
	}
}

// Log is what a log of one day holds.
type Log struct {
	Entries []*memory.Entry // in the order of the file, within all limits; the same file gives the same ids
	Notes   []Note          // in the order of lines
}

// blank reports whether text has no letters, digits or meaningful symbols.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) ||
			unicode.IsSymbol(r) && !strings.ContainsRune("`~+=|<>^", r)
	})
}

// deriveID makes an id from text, another one for each salt. The same file gives the same ids, so an adoption can
// be repeated.
func deriveID(salt int, text ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "v1\x00%d\x00%s", salt, strings.Join(text, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// earliest returns the first of the times that is set.
func earliest(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
