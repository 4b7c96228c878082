package analysis

import (
	"cmp"
	"hash/crc32"
	"slices"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// Tokenizer turns text into tokens. It keeps buffers and a cache of stems, so it is not safe for concurrent use.
type Tokenizer struct {
	lex      *Lexicon
	stems    map[string]wordTerm  // lower-case word → term; the recent generation
	oldStems map[string]wordTerm  // the generation before
	grams    map[[2]rune]wordTerm // terms of one or two characters
	tokens   []Token
	buf      []byte
	runes    []rune
	start    int // of the source being read
	end      int
}

// wordTerm is the indexed form of a word.
type wordTerm struct {
	term string // "" for a stop word
	weak bool
}

// maxStems bounds each generation of the stem cache: about 3 MB in all.
const maxStems = 1 << 14

// NewTokenizer returns a tokenizer that uses a shared lexicon.
func NewTokenizer(lex *Lexicon) *Tokenizer {
	return &Tokenizer{lex: lex, stems: make(map[string]wordTerm, 1024), grams: make(map[[2]rune]wordTerm, 256)}
}

// Stem returns the English stem of a lower-case word (Snowball).
func Stem(word string) string { return english.Stem(word, true) }

// probe is a text whose terms show most changes of the tokenizer, its word lists and its libraries.
const probe = "The Runners' ERR_CONN_RESET httpServer.go:42 v1.26.8 running café ＡＢＣ 我们喜欢資料庫 데이터 カメラ 🚀 " +
	"don't C++ https://a.example/b?c=1 "

// Fingerprint is equal for two tokenizers that give the same terms. A saved index carries it.
func (z *Tokenizer) Fingerprint() uint32 {
	sum := crc32.NewIEEE()
	text := probe + stopWords + weakWords + weakBigrams + functionHan + traditional + irregular
	for _, t := range z.Tokenize(Normalize(text)) {
		sum.Write([]byte{version, byte(t.Kind)})
		sum.Write([]byte(t.Term))
	}
	return sum.Sum32()
}

// Tokenize returns the tokens of a normalised text (see Normalize). The slice is valid until the next call.
func (z *Tokenizer) Tokenize(text string) []Token {
	z.tokens = z.tokens[:0]
	for i := 0; i < len(text); {
		r, size := decodeRune(text, i)
		switch classOf(r) {
		case classWord:
			i = z.scanCompound(text, i)
		case classHan, classGram:
			i = z.scanGrams(text, i)
		case classEmoji:
			z.start, z.end = i, i+size
			z.emit(string(r), Emoji, false)
			i += size
		default:
			i += size
		}
	}
	return z.tokens
}

func (z *Tokenizer) emit(term string, k Kind, weak bool) {
	if term != "" {
		z.tokens = append(z.tokens, Token{Term: term, Kind: k, Weak: weak, Start: z.start, End: z.end})
	}
}

// scanGrams reads a run of a script written without spaces and returns its end. It emits the bigrams, and the single
// Han characters that carry meaning.
func (z *Tokenizer) scanGrams(text string, i int) int {
	from := i
	z.runes = z.runes[:0]
	for i < len(text) {
		r, size := decodeRune(text, i)
		if c := classOf(r); c != classHan && c != classGram {
			break
		}
		// Traditional and simplified spellings of a word are one term.
		if s, ok := z.lex.simplified[r]; ok {
			r = s
		}
		z.runes = append(z.runes, r)
		i += size
	}
	run, unigram := z.runes, HanUnigram
	if slices.ContainsFunc(run, isKana) { // Japanese: 好 is the word in 好き, whose ending changes
		unigram = HanSingle
	}
	z.start, z.end = from, i
	if len(run) == 1 {
		if !isFunctionHan(run[0]) {
			z.emit(string(run[0]), HanSingle, false)
		}
		return i
	}
	at := from
	for j, r := range run {
		_, size := decodeRune(text, at)
		z.start, z.end = at, at+size
		if classOf(r) == classHan && !isFunctionHan(r) {
			g := z.gramTerm(r, 0)
			z.emit(g.term, unigram, false)
		}
		if j+1 < len(run) {
			_, next := decodeRune(text, at+size)
			z.end += next
			// Two particles side by side are in nearly every text.
			if !isFunctionHan(r) || !isFunctionHan(run[j+1]) {
				g := z.gramTerm(r, run[j+1])
				z.emit(g.term, Bigram, g.weak)
			}
		}
		at += size
	}
	return i
}

// gramTerm returns the term of one character (second is 0) or of two, from a cache.
func (z *Tokenizer) gramTerm(first, second rune) wordTerm {
	k := [2]rune{first, second}
	g, ok := z.grams[k]
	if ok {
		return g
	}
	if g.term = string(first); second != 0 {
		g.term += string(second)
		g.weak = z.lex.weak[g.term]
	}
	if len(z.grams) >= maxStems {
		clear(z.grams)
	}
	z.grams[k] = g
	return g
}

// cacheStem stores a stem. When the recent generation is full it becomes the old one, so unused stems leave.
func (z *Tokenizer) cacheStem(key string, t wordTerm) {
	if len(z.stems) >= maxStems {
		z.stems, z.oldStems = z.oldStems, z.stems
		if z.stems == nil {
			z.stems = make(map[string]wordTerm, maxStems)
		}
		clear(z.stems)
	}
	z.stems[key] = t
}

// emitWord folds and stems a word and emits it unless it is a stop word.
func (z *Tokenizer) emitWord(s string, k Kind) {
	z.buf = appendFolded(z.buf[:0], s)
	if len(z.buf) > MaxTerm {
		cut := MaxTerm
		// Cut between characters, so that equal words are cut equally.
		for cut > 0 && !utf8.RuneStart(z.buf[cut]) {
			cut--
		}
		z.buf = z.buf[:cut]
	}
	t, ok := z.stems[string(z.buf)]
	if !ok {
		w := string(z.buf)
		if t, ok = z.oldStems[w]; !ok && !z.lex.stop[w] {
			t.term = w
			if isLowerAlpha(w) {
				t.term = Stem(cmp.Or(z.lex.base[w], w))
			}
			t.weak = z.lex.weak[t.term]
		}
		z.cacheStem(w, t)
	}
	z.emit(t.term, k, t.weak)
}

// isLowerAlpha reports whether w is a lower-case ASCII word, the only kind that the English stemmer may touch.
func isLowerAlpha(w string) bool {
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return true
}
