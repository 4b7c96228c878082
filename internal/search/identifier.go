package search

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A chunk is a run of word characters and of the signs that join them in identifiers, paths, versions, addresses and
// URLs. It gives the whole, every level inside it, and the words at the bottom:
//
//	ERR_CONN_RESET     errconnreset, err, conn, reset
//	httpServer.go:42   httpserver.go:42, httpserver.go, httpserver, http, server, go, 42
//	v1.26.8            v1.26.8, 1.26.8, 1.26
//
// Snake, camel and kebab forms of one name give the same whole.

// chunk reads one chunk starting at i and returns where it ends.
func (a *analyzer) chunk(text string, i int) int {
	end, plain := chunkEnd(text, i)
	a.start, a.end = i, end
	s := text[i:end]
	if tail := languageTail(text, i, end); tail > 0 { // c++, c#
		a.end = end + tail
		a.buf = append(appendFolded(a.buf[:0], s), text[end:end+tail]...)
		a.emit(string(a.buf), word, false)
		return end + tail
	}
	if plain {
		a.word(trimClitic(s), word)
		return end
	}
	a.compound(s, whole)
	return end
}

// chunkEnd finds the end of the chunk and whether it is a plain word without structure.
func chunkEnd(text string, i int) (end int, plain bool) {
	plain = true
	url := false
	var prev rune
	for end = i; end < len(text); {
		r, size := decode(text, end)
		if classOf(r) == classWord {
			if plain && (isUpper(r) && isLower(prev) || isDigit(r) && isLetter(prev) || isLetter(r) && isDigit(prev)) {
				plain = false
			}
			prev = r
			end += size
			continue
		}
		n := joiner(text, end, r, url)
		if n == 0 || end+n >= len(text) {
			break
		}
		if next, _ := decode(text, end+n); classOf(next) != classWord {
			break
		}
		if r != '\'' && r != '’' {
			plain = false
		}
		url = url || n == 3
		prev = r
		end += n
	}
	return end, plain
}

// joiner returns the length of the joining sign at i, 0 when there is none.
func joiner(text string, i int, r rune, url bool) int {
	switch r {
	case '_', '-', '.', '/', '\\', '@', '&', '\'':
		return 1
	case '’':
		return len("’")
	case '~', '?', '=', '#', '%', '+':
		if url {
			return 1
		}
	case ':':
		switch {
		case strings.HasPrefix(text[i:], "://"):
			return 3
		case strings.HasPrefix(text[i:], "::"):
			return 2
		}
		return 1
	}
	return 0
}

// languageTail is the length of the signs that belong to a name such as C++ or F#.
func languageTail(text string, start, end int) int {
	if end-start > 4 {
		return 0
	}
	tail := text[end:]
	n := 0
	switch {
	case strings.HasPrefix(tail, "++"):
		n = 2
	case strings.HasPrefix(tail, "#"):
		n = 1
	default:
		return 0
	}
	if !isAlpha(strings.ToLower(text[start:end])) {
		return 0
	}
	if len(tail) > n {
		if r, _ := decode(tail, n); classOf(r) == classWord {
			return 0
		}
	}
	return n
}

// clitics hang on a word and say nothing.
var clitics = []string{"'s", "'d", "'m", "'ll", "'ve", "'re"}

// trimClitic takes the ending of Anna's or we'll off.
func trimClitic(s string) string {
	at := max(strings.LastIndexByte(s, '\''), strings.LastIndex(s, "’"))
	if at <= 0 {
		return s
	}
	tail := "'" + strings.ToLower(strings.TrimLeft(s[at:], "'’"))
	if slices.Contains(clitics, tail) {
		return s[:at]
	}
	return s
}

// compound emits s as a whole and goes one level down: path segments, then dotted names, then snake, camel and kebab words.
func (a *analyzer) compound(s string, k kind) {
	s = trimClitic(s)
	if isNumeric(s) {
		a.number(s, k)
		return
	}
	for _, isSeparator := range []func(rune) bool{isPathSeparator, isDot} {
		if !strings.ContainsFunc(s, isSeparator) {
			continue
		}
		a.whole(s)
		for segment := range strings.FieldsFuncSeq(s, isSeparator) {
			a.compound(segment, part)
		}
		return
	}
	a.name(s, k)
}

// name emits a snake, camel or kebab name joined to one word, and its words.
func (a *analyzer) name(s string, k kind) {
	joined := strings.Map(func(r rune) rune {
		if isNameSeparator(r) {
			return -1
		}
		return r
	}, s)
	if !strings.ContainsFunc(s, isNameSeparator) && !hasInner(s) {
		if k == whole {
			k = word
		}
		a.word(s, k)
		return
	}
	if len(joined) <= maxTerm {
		a.word(joined, whole)
	}
	for field := range strings.FieldsFuncSeq(s, isNameSeparator) {
		a.camel(field)
	}
}

// hasInner reports whether a name without separators has words inside.
func hasInner(s string) bool {
	var prev rune
	letters := 0
	for _, r := range s {
		if isUpper(r) && isLower(prev) || isDigit(r) && letters >= 3 {
			return true
		}
		if isLetter(r) {
			letters++
		} else {
			letters = 0
		}
		prev = r
	}
	return false
}

// camel emits the words of a camel-case name: HTTPServer gives http and server, python3 gives python. A name that
// has none is a word itself.
func (a *analyzer) camel(s string) {
	from := 0
	var prev rune
	for i := 0; i < len(s); {
		r, size := decode(s, i)
		cut := false
		switch {
		case i == 0:
		case isUpper(r) && isLower(prev):
			cut = true
		case isUpper(r) && isUpper(prev) && i+size < len(s):
			next, _ := decode(s, i+size)
			cut = isLower(next)
		case isDigit(r) && isLetter(prev) && i-from >= 3:
			cut = true
		}
		if cut {
			a.camelWord(s[from:i], from == 0)
			from = i
		}
		prev = r
		i += size
	}
	a.camelWord(s[from:], from == 0)
}

// camelWord leaves out a number that was cut off its name: it says nothing alone.
func (a *analyzer) camelWord(s string, first bool) {
	if r, _ := decode(s, 0); !first && isDigit(r) {
		return
	}
	a.word(s, part)
}

// whole emits s folded, its separators kept; of a long one, a hash.
func (a *analyzer) whole(s string) {
	if len(s) > maxWhole {
		return
	}
	a.buf = appendFolded(a.buf[:0], s)
	if len(a.buf) > maxTerm {
		h := fnv.New64a()
		h.Write(a.buf)
		a.buf = strconv.AppendUint(append(a.buf[:0], '#'), h.Sum64(), 36)
	}
	a.emit(string(a.buf), whole, false)
}

// maxWhole bounds what is known as a whole, in bytes.
const maxWhole = 512

// number emits a version, date, time or other number in parts: itself and every longer prefix of two parts or more.
func (a *analyzer) number(s string, k kind) {
	if s[0] == 'v' || s[0] == 'V' {
		a.whole(s)
		s = s[1:]
	}
	parts := 0
	for i := 1; i < len(s); i++ {
		if isDigit(rune(s[i])) {
			continue
		}
		if parts++; parts >= 2 && i <= maxTerm {
			a.emit(s[:i], part, false)
		}
	}
	if len(s) > maxTerm {
		return
	}
	if parts == 0 && k == whole {
		k = word
	}
	a.emit(strings.Clone(s), k, false)
}

// isNumeric reports whether s is digits with single separators, a leading v allowed.
func isNumeric(s string) bool {
	if len(s) > 1 && (s[0] == 'v' || s[0] == 'V') {
		s = s[1:]
	}
	digits := 0
	for i := range len(s) {
		switch b := s[i]; {
		case '0' <= b && b <= '9':
			digits++
		case i == 0 || i == len(s)-1 || strings.IndexByte(".-/:_", b) < 0 || !isDigit(rune(s[i+1])):
			return false
		}
	}
	return digits > 0
}

func isPathSeparator(r rune) bool { return strings.ContainsRune(`/\:@&?=#%~+`, r) }
func isDot(r rune) bool           { return r == '.' }
func isNameSeparator(r rune) bool { return r == '_' || r == '-' }

func isUpper(r rune) bool {
	return 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf && unicode.IsUpper(r)
}

func isLower(r rune) bool {
	return 'a' <= r && r <= 'z' || r >= utf8.RuneSelf && unicode.IsLower(r)
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

func isLetter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf && unicode.IsLetter(r)
}
