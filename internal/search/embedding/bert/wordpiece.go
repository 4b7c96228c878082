package bert

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWordLength is the number of characters of a word that is split into pieces; a longer one is unknown.
const maxWordLength = 100

// wordPiece is BERT's uncased tokenizer: words, punctuation and single Chinese characters, each split into the
// longest pieces of the vocabulary (WordPiece: Wu et al., "Google's Neural Machine Translation System", 2016).
type wordPiece struct {
	initial      map[string]int32 // pieces that begin a word
	continuation map[string]int32 // pieces within a word, without the mark ##
	longest      int              // bytes of the longest piece
	special      map[string]int32 // special tokens, matched literally in a text before anything else
	unknown      int32
	start        int32
	end          int32
}

// newWordPiece returns the tokenizer of a vocabulary, in the order of ids, and its special tokens by name without
// brackets.
func newWordPiece(words []string, special map[string]int32) *wordPiece {
	v := &wordPiece{
		initial: make(map[string]int32, len(words)), continuation: map[string]int32{}, special: map[string]int32{},
		unknown: special["UNK"], start: special["CLS"], end: special["SEP"],
	}
	for id, word := range words {
		v.longest = max(v.longest, len(word))
		if piece, ok := strings.CutPrefix(word, "##"); ok && piece != "" {
			v.continuation[piece] = int32(id)
		} else {
			v.initial[word] = int32(id)
		}
	}
	for name, id := range special {
		v.special["["+name+"]"] = id
	}
	return v
}

func (v *wordPiece) size() int { return len(v.initial) + len(v.continuation) }

// tokenize handles special tokens in the text first, as the model's own tokenizer does, and stops at limit.
func (v *wordPiece) tokenize(text string, limit int) []int32 {
	ids := make([]int32, 1, min(limit, 2+len(text)/2))
	ids[0] = v.start
	for text != "" && len(ids) < limit-1 {
		plain, id, rest := v.cutSpecial(text)
		ids = v.appendPlain(ids, plain, limit)
		if len(plain)+len(rest) < len(text) {
			ids = append(ids, id)
		}
		text = rest
	}
	return append(ids[:min(len(ids), limit-1)], v.end)
}

// cutSpecial splits text around the first special token in it.
func (v *wordPiece) cutSpecial(text string) (before string, id int32, after string) {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '[')
		if next < 0 {
			return text, 0, ""
		}
		at += next
		if end := strings.IndexByte(text[at:], ']') + 1; end > 0 {
			if id, ok := v.special[text[at:at+end]]; ok {
				return text[:at], id, text[at+end:]
			}
		}
	}
}

// appendPlain appends the pieces of a text without special tokens, until there are limit.
func (v *wordPiece) appendPlain(ids []int32, text string, limit int) []int32 {
	var word []byte
	// Decomposed, so that accents are characters of their own and can be dropped, as the model was trained.
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
		if len(ids) >= limit {
			return ids
		}
	}
	return v.appendWord(ids, word)
}

// appendWord appends the pieces of a word, the longest match first. A word that is not made of pieces becomes one
// unknown token.
func (v *wordPiece) appendWord(ids []int32, word []byte) []int32 {
	if len(word) == 0 {
		return ids
	}
	if utf8.RuneCount(word) > maxWordLength {
		return append(ids, v.unknown)
	}
	start, pieces := len(ids), v.initial
	for rest := word; len(rest) > 0; pieces = v.continuation {
		n := min(len(rest), v.longest)
		id, ok := pieces[string(rest[:n])]
		for !ok && n > 0 {
			for n--; n > 0 && !utf8.RuneStart(rest[n]); n-- {
			}
			id, ok = pieces[string(rest[:n])]
		}
		if n == 0 {
			// The pieces found so far go too: the vocabulary knows whole words only.
			return append(ids[:start], v.unknown)
		}
		ids = append(ids, id)
		rest = rest[n:]
	}
	return ids
}

// clean drops control characters, turns every kind of space into " ", and puts spaces around Chinese characters.
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

// isChinese is true for the Unicode blocks that BERT treats as Chinese.
func isChinese(r rune) bool {
	return r >= 0x3400 && (r >= 0x4E00 && r <= 0x9FFF || r <= 0x4DBF || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0x20000 && (r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F || r >= 0x2B740 && r <= 0x2B81F ||
			r >= 0x2B920 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F))
}

// isPunctuation is true for characters that are words of their own: punctuation, and every symbol of ASCII.
func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7F && !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}
	return unicode.IsPunct(r)
}
