package bert

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// wordStart replaces spaces in the pieces of SentencePiece.
const wordStart = "▁"

// wideTilde is not normalised: nmt_nfkc differs here from NFKC.
const wideTilde = "～"

// unigram is the tokenizer of SentencePiece's unigram model: Kudo, "Subword Regularization", 2018. It picks the
// pieces with the greatest sum of log probabilities.
type unigram struct {
	ids          map[string]int32
	beginnings   prefixSet // of the pieces
	scores       []float32 // by id: log probability
	longest      int       // bytes of the longest piece
	normal       map[rune]string
	start, end   int32
	unknown      int32
	unknownScore float32 // of one character that is no piece
}

// newUnigram returns a tokenizer whose special ids are not set yet. Empty pieces match nothing.
func newUnigram(pieces []string, scores []float32, normal map[rune]string) *unigram {
	u := &unigram{ids: make(map[string]int32, len(pieces)), scores: scores, normal: normal}
	for id, piece := range pieces {
		if piece != "" {
			u.ids[piece] = int32(id)
			u.beginnings.add(piece)
			u.longest = max(u.longest, len(piece))
		}
	}
	return u
}

func (u *unigram) size() int { return len(u.scores) }

// bytesPerToken is more than a token has on average in any language: longer texts are cut before they are normalised.
const bytesPerToken = 64

// tokenize cuts the text before it segments it: the Viterbi search is linear in the text, and what lies
// beyond the limit could never become a token.
func (u *unigram) tokenize(text string, limit int) []int32 {
	if most := bytesPerToken * limit; len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	ids := append(make([]int32, 0, limit), u.start)
	for _, id := range u.segment(u.normalize(text)) {
		if len(ids) == limit-1 {
			break
		}
		ids = append(ids, id)
	}
	return append(ids, u.end)
}

// normalize applies NFKC and the model's own replacements, collapses spaces, and marks the start of each word.
func (u *unigram) normalize(text string) string {
	var out strings.Builder
	out.Grow(len(text) + len(text)/4 + len(wordStart))
	space := true // a word start is due before the next character
	for i, part := range strings.Split(text, wideTilde) {
		if i > 0 {
			space = u.appendNormal(&out, space, wideTilde)
		}
		space = u.appendNormal(&out, space, norm.NFKC.String(part))
	}
	return out.String()
}

// appendNormal appends text that is in NFKC; it takes and returns whether a word start is due.
func (u *unigram) appendNormal(out *strings.Builder, space bool, text string) bool {
	for _, r := range text {
		replacement, replaced := u.normal[r]
		if !replaced {
			replacement = string(r)
		}
		for _, r := range replacement {
			if r == ' ' {
				space = true
				continue
			}
			if space {
				out.WriteString(wordStart)
				space = false
			}
			out.WriteRune(r)
		}
	}
	return space
}

// lattice is the best segmentation that ends at one byte of a text (Viterbi's algorithm).
type lattice struct {
	score float32
	from  int32 // where its last piece begins; −1 when no segmentation ends here
	id    int32 // of its last piece
}

// segment returns the ids of the best segmentation. Consecutive unknown characters are one token.
func (u *unigram) segment(text string) []int32 {
	best := make([]lattice, len(text)+1)
	for i := range best {
		best[i].from = -1
	}
	best[0].from = 0
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRuneInString(text[at:])
		single := false // some piece is this character alone
		begun := emptyPrefix.extend(text[at : at+size])
		for end := at + size; end <= min(len(text), at+u.longest) && u.beginnings.mayHave(begun); {
			if id, ok := u.ids[text[at:end]]; ok {
				best[end].offer(best[at].score+u.scores[id], at, id)
				single = single || end == at+size
			}
			_, next := utf8.DecodeRuneInString(text[end:])
			if next == 0 {
				break
			}
			begun = begun.extend(text[end : end+next])
			end += next
		}
		if !single {
			best[at+size].offer(best[at].score+u.unknownScore, at, u.unknown)
		}
		at += size
	}
	var ids []int32
	for at := len(text); at > 0; at = int(best[at].from) {
		if id := best[at].id; id != u.unknown || len(ids) == 0 || ids[len(ids)-1] != u.unknown {
			ids = append(ids, id)
		}
	}
	slices.Reverse(ids)
	return ids
}

// prefixSet tells of most texts that no piece begins with them: a Bloom filter of one hash. Without it, every text up
// to the longest piece would be looked up at every character, which took a tenth of a millisecond for a question.
type prefixSet [1 << prefixBits / 64]uint64

const prefixBits = 19 // seven bits for each beginning

// prefixHash is the hash of a text that is read character by character: FNV-1a.
type prefixHash uint64

const emptyPrefix prefixHash = 0xcbf29ce484222325

// extend returns the hash of a text with one more character.
func (h prefixHash) extend(character string) prefixHash {
	for i := range len(character) {
		h = (h ^ prefixHash(character[i])) * 0x100000001b3
	}
	return h
}

// place is where the hash is noted: a word and a bit.
func (h prefixHash) place() (word, bit uint64) {
	at := uint64(h) >> (64 - prefixBits)
	return at / 64, at % 64
}

// add adds all beginnings of a piece, up to the whole of it.
func (s *prefixSet) add(piece string) {
	h := emptyPrefix
	for len(piece) > 0 {
		_, size := utf8.DecodeRuneInString(piece)
		h, piece = h.extend(piece[:size]), piece[size:]
		word, bit := h.place()
		s[word] |= 1 << bit
	}
}

// mayHave is true of the beginning of a piece, and rarely of another text.
func (s *prefixSet) mayHave(h prefixHash) bool {
	word, bit := h.place()
	return s[word]>>bit&1 != 0
}

// offer keeps the better of two segmentations; the first of equal ones stays.
func (l *lattice) offer(score float32, from int, id int32) {
	if l.from < 0 || score > l.score {
		*l = lattice{score, int32(from), id}
	}
}
