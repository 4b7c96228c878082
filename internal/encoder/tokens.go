package encoder

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// longestWord is how many characters a word may have; a longer one is unknown.
const longestWord = 100

// vocabulary takes texts apart as BERT does that knows no capitals: into words, punctuation and single Chinese characters, and those
// into the longest pieces that have a number.
type vocabulary struct {
	first   map[string]int32 // pieces that a word can begin with
	later   map[string]int32 // those that go on, without the mark ##
	longest int              // bytes of the longest piece
	special map[string]int32 // stand for themselves in a text, before everything else
	unknown int32
	begin   int32
	end     int32
	limit   int // tokens of a text
}

func newVocabulary(words []string, special map[string]int32, limit int) *vocabulary {
	v := &vocabulary{
		first: make(map[string]int32, len(words)), later: map[string]int32{}, special: map[string]int32{},
		unknown: special["UNK"], begin: special["CLS"], end: special["SEP"], limit: limit,
	}
	for id, word := range words {
		v.longest = max(v.longest, len(word))
		if piece, later := strings.CutPrefix(word, "##"); later && piece != "" {
			v.later[piece] = int32(id)
		} else {
			v.first[word] = int32(id)
		}
	}
	for name, id := range special {
		v.special["["+name+"]"] = id
	}
	return v
}

// size is the number of different pieces.
func (v *vocabulary) size() int { return len(v.first) + len(v.later) }

// tokens returns the numbers of a text's pieces between those that mark its begin and end, limit at most: what follows is left out.
func (v *vocabulary) tokens(text string) []int32 {
	ids := make([]int32, 1, min(v.limit, 2+len(text)/2))
	ids[0] = v.begin
	for text != "" && len(ids) < v.limit-1 {
		plain, id, rest := v.cutSpecial(text)
		ids = v.appendPlain(ids, plain)
		if len(plain)+len(rest) < len(text) {
			ids = append(ids, id)
		}
		text = rest
	}
	return append(ids[:min(len(ids), v.limit-1)], v.end)
}

// cutSpecial splits text around the first special token in it.
func (v *vocabulary) cutSpecial(text string) (before string, id int32, after string) {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '[')
		if next < 0 {
			return text, 0, ""
		}
		at += next
		if end := strings.IndexByte(text[at:], ']') + 1; end > 0 {
			if id, there := v.special[text[at:at+end]]; there {
				return text[:at], id, text[at+end:]
			}
		}
	}
}

// appendPlain appends the pieces of a text without special tokens, until there are enough.
func (v *vocabulary) appendPlain(ids []int32, text string) []int32 {
	var word []byte
	for _, r := range string(norm.NFD.Bytes(clean(text))) {
		switch {
		case unicode.Is(unicode.Mn, r):
			continue
		case r == ' ':
			ids = v.appendWord(ids, word)
			word = word[:0]
		case isPunctuation(r):
			ids = v.appendWord(ids, word)
			word = utf8.AppendRune(word[:0], r)
			ids = v.appendWord(ids, word)
			word = word[:0]
		default:
			word = utf8.AppendRune(word, unicode.ToLower(r))
		}
		if len(ids) >= v.limit {
			return ids
		}
	}
	return v.appendWord(ids, word)
}

// appendWord appends the longest piece that begins the word, then the longest that goes on, and so on. A word that is not made of pieces is one
// unknown token.
func (v *vocabulary) appendWord(ids []int32, word []byte) []int32 {
	if len(word) == 0 {
		return ids
	}
	if utf8.RuneCount(word) > longestWord {
		return append(ids, v.unknown)
	}
	start, pieces := len(ids), v.first
	for rest := word; len(rest) > 0; pieces = v.later {
		n := min(len(rest), v.longest)
		id, there := pieces[string(rest[:n])]
		for !there && n > 0 {
			for n--; n > 0 && !utf8.RuneStart(rest[n]); n-- {
			}
			id, there = pieces[string(rest[:n])]
		}
		if n == 0 {
			return append(ids[:start], v.unknown)
		}
		ids = append(ids, id)
		rest = rest[n:]
	}
	return ids
}

// clean drops what cannot be seen, makes every kind of space one, and puts spaces around Chinese characters.
func clean(text string) []byte {
	out := make([]byte, 0, len(text)+len(text)/2)
	for _, r := range text {
		switch {
		case r == '\t', r == '\n', r == '\r':
			out = append(out, ' ')
		case r == 0, r == utf8.RuneError, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		case unicode.IsSpace(r):
			out = append(out, ' ')
		case isChinese(r):
			out = append(utf8.AppendRune(append(out, ' '), r), ' ')
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return slices.Clip(out)
}

// isChinese is true for the blocks of characters that BERT takes for Chinese.
func isChinese(r rune) bool {
	return r >= 0x3400 && (r >= 0x4E00 && r <= 0x9FFF || r <= 0x4DBF || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0x20000 && (r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F || r >= 0x2B740 && r <= 0x2B81F ||
			r >= 0x2B920 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F))
}

// isPunctuation is true for what stands alone: punctuation, and every sign of ASCII.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7F && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}
	return unicode.IsPunct(r)
}
