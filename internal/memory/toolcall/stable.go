package toolcall

import (
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// What differs from run to run and means nothing in the next one.
var (
	temporaryPath = lazyregexp.New(`(?:/private)?(?:/tmp|/var/tmp|/var/folders|/dev/shm)(?:/[\w.@+-]+)+` +
		`|(?i:[a-z]:\\[^\s"']*\\temp\\[^\s"']+)`)
	instant = lazyregexp.New(`\b\d{4}-\d\d-\d\d[T_ ]\d\d[:_-]\d\d(?:[:_-]\d\d)?(?:[.,_]\d+)?` +
		`(?:Z|_\d+Z|[+-]\d\d:?\d\d)?`)
	clock      = lazyregexp.New(`\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b`)
	elapsed    = lazyregexp.New(`\b\d+(?:\.\d+)?\s?(?:ms|µs|ns)\b|\b\d+\.\d+\s?s(?:ec(?:onds)?)?\b`)
	uuid       = lazyregexp.New(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	labelledID = lazyregexp.New(`(?i)\b((?:request|trace|span|session|chunk|call|run|job|correlation)` +
		`[ _-]?id[:=]? ?"?)[\w-]{4,}`)
	wordID     = lazyregexp.New(`[A-Za-z0-9_]{8,}`)
	addressHex = lazyregexp.New(`\b0x[0-9a-fA-F]{4,}\b`)
	gaps       = lazyregexp.New(`…(?:[\s/.,:_-]*…)+`)
)

// Stable replaces by "…" what differs between two runs of one command: temporary paths (the name of a file in them
// stays), times, durations, addresses in memory and random ids. Versions, ports, line numbers and status codes stay.
func Stable(s string) string {
	s = temporaryPath.ReplaceAllStringFunc(s, func(p string) string {
		parts := strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == '\\' })
		if name := parts[len(parts)-1]; len(parts) > 2 && !random(name) && strings.Contains(name, ".") &&
			!strings.HasPrefix(name, "tmp") {
			return "…/" + name
		}
		return "…"
	})
	for _, p := range []*lazyregexp.Pattern{instant, uuid, clock, elapsed, addressHex} {
		s = p.ReplaceAllString(s, "…")
	}
	s = labelledID.ReplaceAllString(s, "${1}…")
	s = wordID.ReplaceAllStringFunc(s, func(w string) string {
		if random(w) {
			return "…"
		}
		return w
	})
	return gaps.ReplaceAllString(s, "…")
}

var hexWord = lazyregexp.New(`^[0-9a-f]{8,}$|^[0-9A-F]{8,}$`)

// random reports whether a word is an id rather than a name: hexadecimal with digits and letters, a number of ten or
// more digits such as a time in seconds, or a long mixture of both cases and digits.
func random(w string) bool {
	digits, upper, lower, changes := 0, 0, 0, 0
	last := 0
	for _, r := range w {
		class := 0
		switch {
		case unicode.IsDigit(r):
			digits, class = digits+1, 1
		case unicode.IsUpper(r):
			upper, class = upper+1, 2
		case unicode.IsLower(r):
			lower, class = lower+1, 3
		}
		if last != 0 && class != last {
			changes++
		}
		last = class
	}
	switch {
	case digits == len(w):
		return digits >= 10
	case hexWord.MatchString(w):
		return digits > 0 && digits < len(w)
	}
	return len(w) >= 12 && digits >= 2 && upper > 0 && lower > 0 && changes >= len(w)/3
}

// shorten cuts s to n characters.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
