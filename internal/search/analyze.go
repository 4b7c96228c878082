package search

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// analyzerVersion is raised with every change of the terms an unchanged text gives that the probe text of stamp
// would not show.
const analyzerVersion = 2

// maxTerm bounds a term, in bytes. A longer path or address is known by a hash; a longer word is cut.
const maxTerm = 64

// kind says how a token came about, which decides its weight in a query.
type kind uint8

const (
	word    kind = iota // a word, or a number
	part                // a word inside an identifier
	whole               // an identifier, path, version, URL… as one term
	unigram             // a single Han character of a longer run
	single              // a Han character that stands alone
	bigram              // two neighbouring characters of a script written without spaces
	emoji
)

// token is one term of a text. Bytes [start, end) of the normalised text are what it was read from.
type token struct {
	term       string
	kind       kind
	weak       bool
	start, end int
}

// analyzer turns text into tokens. It keeps scratch space and a cache of stems, so it is not safe for concurrent use;
// the engine pools analyzers.
type analyzer struct {
	lex    *lexicon
	stems  map[string]stemmed  // lower-case word → term; the words seen lately
	faded  map[string]stemmed  // the words seen before those
	pairs  map[[2]rune]stemmed // the terms of characters seen lately, one or two
	tokens []token
	buf    []byte
	runes  []rune
	start  int // of the chunk being read
	end    int

	before, after []termCount // of a memory that changes

	query query          // the one parsed last
	asked map[string]int // its terms
}

type stemmed struct {
	term string // "" for a stop word
	weak bool
}

// maxStems bounds each half of the cache: about 3 MB in all.
const maxStems = 1 << 14

func newAnalyzer(lex *lexicon) *analyzer {
	return &analyzer{lex: lex, stems: make(map[string]stemmed, 1024), pairs: make(map[[2]rune]stemmed, 256)}
}

func stem(w string) string { return english.Stem(w, true) }

// normalize brings full-width, ligature and compatibility forms together (NFKC).
func normalize(s string) string {
	if isASCII(s) {
		return s
	}
	if narrow, ok := narrowed(s); ok {
		return narrow
	}
	return norm.NFKC.String(s) // s itself when it is normal
}

// narrowed is NFKC of Chinese text, of which only the full-width forms change, without the room that NFKC takes. It is false of text with
// anything else in it.
func narrowed(s string) (string, bool) {
	wide := 0
	for i := 0; i < len(s); {
		r, size := decode(s, i)
		switch {
		case r < utf8.RuneSelf:
		case isFullWidth(r):
			wide++
		case !isInert(r):
			return "", false
		}
		i += size
	}
	if wide == 0 {
		return s, true
	}
	b := make([]byte, 0, len(s)-2*wide)
	for i := 0; i < len(s); {
		r, size := decode(s, i)
		if isFullWidth(r) {
			b = append(b, byte(r-0xff01+'!'))
		} else {
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return string(b), true
}

func isFullWidth(r rune) bool { return 0xff01 <= r && r <= 0xff5e }

// isInert reports whether NFKC never changes a character, nor joins it with another: the Chinese ones and some of their punctuation.
func isInert(r rune) bool {
	return 0x4e00 <= r && r <= 0x9fff || 0x3001 <= r && r <= 0x3003 || 0x3008 <= r && r <= 0x3011 || 0x2018 <= r && r <= 0x201d && r != 0x201b || r == 0x2014
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// tokenize appends the tokens of text, which must be normalised, to a.tokens[:0]. The slice is valid until the next call.
func (a *analyzer) tokenize(text string) []token {
	a.tokens = a.tokens[:0]
	for i := 0; i < len(text); {
		r, size := decode(text, i)
		switch classOf(r) {
		case classWord:
			i = a.chunk(text, i)
		case classHan, classGram:
			i = a.grams(text, i)
		case classEmoji:
			a.start, a.end = i, i+size
			a.emit(string(r), emoji, false)
			i += size
		default:
			i += size
		}
	}
	return a.tokens
}

func (a *analyzer) emit(term string, k kind, weak bool) {
	if term != "" {
		a.tokens = append(a.tokens, token{term: term, kind: k, weak: weak, start: a.start, end: a.end})
	}
}

// grams reads a run of a script written without spaces: its bigrams, and the single Han characters that carry meaning.
func (a *analyzer) grams(text string, i int) int {
	from := i
	a.runes = a.runes[:0]
	for i < len(text) {
		r, size := decode(text, i)
		if c := classOf(r); c != classHan && c != classGram {
			break
		}
		if s, ok := a.lex.fold[r]; ok {
			r = s
		}
		a.runes = append(a.runes, r)
		i += size
	}
	run := a.runes
	a.start, a.end = from, i
	if len(run) == 1 {
		if !isFunctionHan(run[0]) {
			a.emit(string(run[0]), single, false)
		}
		return i
	}
	at := from
	for j, r := range run {
		_, size := decode(text, at)
		a.start, a.end = at, at+size
		if classOf(r) == classHan && !isFunctionHan(r) {
			g := a.gram(r, 0)
			a.emit(g.term, unigram, false)
		}
		if j+1 < len(run) {
			_, next := decode(text, at+size)
			a.end += next
			if !isFunctionHan(r) || !isFunctionHan(run[j+1]) {
				g := a.gram(r, run[j+1])
				a.emit(g.term, bigram, g.weak)
			}
		}
		at += size
	}
	return i
}

// gram is the term of one character, or of two.
func (a *analyzer) gram(first, second rune) stemmed {
	k := [2]rune{first, second}
	g, ok := a.pairs[k]
	if ok {
		return g
	}
	if g.term = string(first); second != 0 {
		g.term += string(second)
		g.weak = a.lex.weak[g.term]
	}
	if len(a.pairs) >= maxStems {
		clear(a.pairs)
	}
	a.pairs[k] = g
	return g
}

// remember keeps a stem. When there are too many, those that were not needed lately go.
func (a *analyzer) remember(key string, s stemmed) {
	if len(a.stems) >= maxStems {
		a.stems, a.faded = a.faded, a.stems
		if a.stems == nil {
			a.stems = make(map[string]stemmed, maxStems)
		}
		clear(a.stems)
	}
	a.stems[key] = s
}

// word emits a word: folded, stemmed, unless it is a stop word.
func (a *analyzer) word(s string, k kind) {
	a.buf = appendFolded(a.buf[:0], s)
	if len(a.buf) > maxTerm {
		cut := maxTerm
		for cut > 0 && !utf8.RuneStart(a.buf[cut]) {
			cut--
		}
		a.buf = a.buf[:cut]
	}
	st, ok := a.stems[string(a.buf)]
	if !ok {
		w := string(a.buf)
		if st, ok = a.faded[w]; !ok && !a.lex.stop[w] {
			st.term = w
			if isAlpha(w) {
				st.term = stem(cmp.Or(a.lex.base[w], w))
			}
			st.weak = a.lex.weak[st.term]
		}
		a.remember(w, st)
	}
	a.emit(st.term, k, st.weak)
}

// isAlpha reports whether w is an ASCII word, the only kind the English stemmer may touch.
func isAlpha(w string) bool {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}

// appendFolded appends s in lower case, without apostrophes and without the accents of Latin letters.
func appendFolded(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if 'A' <= b && b <= 'Z' {
				b += 'a' - 'A'
			}
			if b != '\'' {
				dst = append(dst, b)
			}
			i++
			continue
		}
		r, size := decode(s, i)
		dst = appendFoldedRune(dst, r)
		i += size
	}
	return dst
}

var special = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ł", "l", "ı", "i", "þ", "th", "ð", "d")

func appendFoldedRune(dst []byte, r rune) []byte {
	r = unicode.ToLower(unicode.ToUpper(r)) // joins variants such as the two small sigmas
	switch {
	case r == '’' || r == '‘' || r == 'ʼ' || unicode.Is(unicode.Mn, r) && r < 0x370:
		return dst
	case r < 0x250 || r >= 0x1e00 && r < 0x1f00:
		var tmp [utf8.UTFMax]byte
		n := utf8.EncodeRune(tmp[:], r)
		if d := norm.NFD.Properties(tmp[:n]).Decomposition(); len(d) > 0 && d[0] < utf8.RuneSelf {
			return append(dst, d[0])
		}
		return append(dst, special.Replace(string(r))...)
	}
	return utf8.AppendRune(dst, r)
}

func decode(s string, i int) (rune, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	return utf8.DecodeRuneInString(s[i:])
}
