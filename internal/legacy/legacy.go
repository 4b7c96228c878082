// Package legacy reads the files of the oldest layout, MEMORY.md and logs/DATE.md, into memories and log entries. They were written by
// programs, language models and people in no fixed form, so the reader is tolerant: it never fails, and what it does not understand it
// keeps as text or names in a note. It does no I/O and does not decide what becomes of what it read.
package legacy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Note is a place in a file that was not taken over, or not as it stood. It holds no text of the file.
type Note struct {
	First, Last int // lines, from 1
	Detail      string
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
	Notes    []Note           // in the order of lines
}

// Log is what a log of one day holds.
type Log struct {
	Entries []*memory.Entry // in the order of the file, within all limits; the same file gives the same ids
	Notes   []Note          // in the order of lines
}

// blank reports whether text says nothing: it has no letters, digits or symbols of its own.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsSymbol(r) && !strings.ContainsRune("`~+=|<>^", r)
	})
}

// derive makes an id from text, another one for each salt.
func derive(salt int, text ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "v1\x00%d\x00%s", salt, strings.Join(text, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// earliest returns the first time that is set.
func earliest(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
