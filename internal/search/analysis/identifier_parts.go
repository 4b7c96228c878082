package analysis

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// A compound is a run of word characters and of the signs that join them in identifiers, paths, versions, addresses
// and URLs. Its tokens are the whole, every level inside it, and the words at the bottom:
//
//	ERR_CONN_RESET     errconnreset, err, conn, reset
//	httpServer.go:42   httpserver.go:42, httpserver.go, httpserver, http, server, go, 42
//	v1.26.8            v1.26.8, 1.26.8, 1.26
//
// Snake, camel and kebab forms of one name give the same whole.

// scanCompound reads the word or compound that starts at i and returns its end.
func (z *Tokenizer) scanCompound(text string, i int) int {
	end, plain := compoundEnd(text, i)
	z.start, z.end = i, end
	s := text[i:end]
	if tail := languageSuffixLen(text, i, end); tail > 0 { // c++, c#
		z.end = end + tail
		z.buf = append(appendFolded(z.buf[:0], s), text[end:end+tail]...)
		z.emit(string(z.buf), Word, false)
		return end + tail
	}
	if plain {
		z.emitWord(TrimClitic(s), Word)
		return end
	}
	z.emitCompound(s, Compound)
	return end
}

// compoundEnd returns the end of the compound at i and whether it is a plain word without structure.
func compoundEnd(text string, i int) (end int, plain bool) {
	plain = true
	url := false
	var prev rune
	for end = i; end < len(text); {
		r, size := decodeRune(text, end)
		if classOf(r) == classWord {
			if plain && (isUpper(r) && isLower(prev) || isDigit(r) && isLetter(prev) || isLetter(r) && isDigit(prev)) {
				plain = false
			}
			prev = r
			end += size
			continue
		}
		n := joinerLen(text, end, r, url)
		if n == 0 || end+n >= len(text) {
			break
		}
		// A joiner at the end is punctuation: "main.go." is main.go and a full stop.
		if next, _ := decodeRune(text, end+n); classOf(next) != classWord {
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

// joinerLen returns the length of the joining sign at i, 0 when there is none.
func joinerLen(text string, i int, r rune, url bool) int {
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

// languageSuffixLen is the length of the signs that belong to a name such as C++ or F#.
func languageSuffixLen(text string, start, end int) int {
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
	if !isLowerAlpha(strings.ToLower(text[start:end])) {
		return 0
	}
	if len(tail) > n {
		if r, _ := decodeRune(tail, n); classOf(r) == classWord {
			return 0
		}
	}
	return n
}

// clitics are endings attached to a word that carry no topic.
var clitics = []string{"'s", "'d", "'m", "'ll", "'ve", "'re"}

// TrimClitic removes the ending of Anna's or we'll.
func TrimClitic(s string) string {
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

// emitCompound emits s as a whole and goes one level down: path segments, then dotted names, then snake, camel and
// kebab words.
func (z *Tokenizer) emitCompound(s string, k Kind) {
	s = TrimClitic(s)
	if isNumeric(s) {
		z.emitNumber(s, k)
		return
	}
	for _, isSeparator := range []func(rune) bool{isPathSeparator, isDot} {
		if !strings.ContainsFunc(s, isSeparator) {
			continue
		}
		z.emitWhole(s)
		for segment := range strings.FieldsFuncSeq(s, isSeparator) {
			z.emitCompound(segment, Subword)
		}
		return
	}
	z.emitName(s, k)
}

// emitName emits a snake, camel or kebab name joined to one word, and its words.
func (z *Tokenizer) emitName(s string, k Kind) {
	joined := strings.Map(func(r rune) rune {
		if IsNameSeparator(r) {
			return -1
		}
		return r
	}, s)
	if !strings.ContainsFunc(s, IsNameSeparator) && !hasInnerWords(s) {
		if k == Compound {
			k = Word
		}
		z.emitWord(s, k)
		return
	}
	if len(joined) <= MaxTerm {
		z.emitWord(joined, Compound)
	}
	for field := range strings.FieldsFuncSeq(s, IsNameSeparator) {
		z.splitCamel(field)
	}
}

// hasInnerWords reports whether a name without separators has words inside.
func hasInnerWords(s string) bool {
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

// splitCamel emits the words of a camel-case name: HTTPServer gives http and server, python3 gives python. A name
// without humps is one word.
func (z *Tokenizer) splitCamel(s string) {
	from := 0
	var prev rune
	for i := 0; i < len(s); {
		r, size := decodeRune(s, i)
		cut := false
		switch {
		case i == 0:
		case isUpper(r) && isLower(prev):
			cut = true
		// The last capital of a run begins the next word: HTTPServer.
		case isUpper(r) && isUpper(prev) && i+size < len(s):
			next, _ := decodeRune(s, i+size)
			cut = isLower(next)
		case isDigit(r) && isLetter(prev) && i-from >= 3:
			cut = true
		}
		if cut {
			z.emitCamelWord(s[from:i], from == 0)
			from = i
		}
		prev = r
		i += size
	}
	z.emitCamelWord(s[from:], from == 0)
}

// emitCamelWord leaves out a number that was cut off its name: alone it carries no topic.
func (z *Tokenizer) emitCamelWord(s string, first bool) {
	if r, _ := decodeRune(s, 0); !first && isDigit(r) {
		return
	}
	z.emitWord(s, Subword)
}

// emitWhole emits s folded, its separators kept; of a long one, a hash.
func (z *Tokenizer) emitWhole(s string) {
	if len(s) > maxWhole {
		return
	}
	z.buf = appendFolded(z.buf[:0], s)
	if len(z.buf) > MaxTerm {
		h := fnv.New64a()
		h.Write(z.buf)
		z.buf = strconv.AppendUint(append(z.buf[:0], '#'), h.Sum64(), 36)
	}
	z.emit(string(z.buf), Compound, false)
}

// maxWhole is the longest compound that is indexed as one term, in bytes.
const maxWhole = 512

// emitNumber emits a version, date, time or other number in parts: itself and every longer prefix of two parts or more.
func (z *Tokenizer) emitNumber(s string, k Kind) {
	if s[0] == 'v' || s[0] == 'V' {
		z.emitWhole(s)
		s = s[1:]
	}
	parts := 0
	for i := 1; i < len(s); i++ {
		if isDigit(rune(s[i])) {
			continue
		}
		if parts++; parts >= 2 && i <= MaxTerm {
			z.emit(s[:i], Subword, false)
		}
	}
	if len(s) > MaxTerm {
		return
	}
	if parts == 0 && k == Compound {
		k = Word
	}
	z.emit(strings.Clone(s), k, false)
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

// IsNameSeparator reports whether r joins the words of a snake or kebab name.
func IsNameSeparator(r rune) bool { return r == '_' || r == '-' }
