package archiver

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// duplicateOverlap is the word overlap from which two texts with equal numbers and negations are duplicates.
const duplicateOverlap = 0.85

// textIndex finds similar texts by their words. It stores hashes instead of texts, because a space may have 100,000
// memories.
type textIndex struct {
	// hashes of normalised contents
	exact map[uint64]bool
	// word sets by ordinal
	texts  []wordSet
	byWord map[uint64][]int32 // ordinals by word
	// by tool and error class
	failures map[[2]string]bool
}

// wordSet is a text prepared for comparison.
type wordSet struct {
	// hashes, distinct and sorted
	words []uint64
	// numbers and negations in order; texts that differ here contradict each other
	exactTokens string
}

// seed of all hashes. They never leave the process.
var seed = maphash.MakeSeed()

// newTextIndex indexes memories.
func newTextIndex(known []*memory.Memory) *textIndex {
	s := &textIndex{exact: map[uint64]bool{}, byWord: map[uint64][]int32{}, failures: map[[2]string]bool{}}
	for _, m := range known {
		s.add(m.Content, m.Context())
	}
	return s
}

// contentHash is the hash of the normalised content.
func contentHash(content string) uint64 { return maphash.String(seed, memory.Normalize(content)) }

// add indexes the text of a memory; context may be nil.
func (s *textIndex) add(content string, context *memory.Context) {
	if context != nil && context.Tool != "" && context.ErrorType != "" {
		s.failures[[2]string{context.Tool, context.ErrorType}] = true
	}
	s.exact[contentHash(content)] = true
	t := wordSetOf(content)
	for _, w := range t.words {
		s.byWord[w] = append(s.byWord[w], int32(len(s.texts)))
	}
	s.texts = append(s.texts, t)
}

// contains reports whether a duplicate of c, or a rule about the same failure, is indexed.
func (s *textIndex) contains(c candidate) bool {
	if x := c.context; x != nil && s.failures[[2]string{x.Tool, x.ErrorType}] {
		return true
	}
	if s.exact[contentHash(c.content)] {
		return true
	}
	t := wordSetOf(c.content)
	return slices.ContainsFunc(s.similarTo(t, duplicateOverlap), func(i int32) bool {
		return s.texts[i].exactTokens == t.exactTokens
	})
}

// similarTo returns the ordinals of texts whose overlap with t is at least least, in order. Such a text shares one of
// t's rarest words, so only the postings of these are read: the prefix filtering of set similarity joins (Chaudhuri,
// Ganti and Kaushik, 2006).
func (s *textIndex) similarTo(t wordSet, least float64) (out []int32) {
	words := slices.Clone(t.words)
	slices.SortFunc(words, func(a, b uint64) int { return cmp.Compare(len(s.byWord[a]), len(s.byWord[b])) })
	looked := map[int32]bool{}
	for _, w := range words[:len(words)-max(int(math.Ceil(least*float64(len(words)))), 1)+1] {
		for _, i := range s.byWord[w] {
			if !looked[i] && s.texts[i].overlap(t) >= least {
				out = append(out, i)
			}
			looked[i] = true
		}
	}
	slices.Sort(out)
	return out
}

// overlap is the Jaccard index of both word sets, 0 to 1.
func (t wordSet) overlap(o wordSet) float64 {
	n, i, j := 0, 0, 0
	for i < len(t.words) && j < len(o.words) {
		switch a, b := t.words[i], o.words[j]; {
		case a == b:
			n, i, j = n+1, i+1, j+1
		case a < b:
			i++
		default:
			j++
		}
	}
	if n == 0 {
		return 0
	}
	return float64(n) / float64(len(t.words)+len(o.words)-n)
}

// negations reverse the meaning of a sentence, so they must match exactly.
var negations = map[string]bool{
	"not": true, "no": true, "never": true, "don": true, "without": true, "isn": true, "won": true, "can": true,
	"cannot": true,
	"doesn":  true, "didn": true, "shouldn": true, "stop": true,
	"不": true, "没": true, "別": true, "别": true, "无": true, "勿": true, "非": true, "未": true, "莫": true,
}

// wordSetOf splits a text into words: runs of letters and digits, and bigrams of Han characters.
func wordSetOf(s string) wordSet {
	var t wordSet
	var strict []string
	var word strings.Builder
	add := func(w string) { t.words = append(t.words, maphash.String(seed, w)) }
	flush := func() {
		w := word.String()
		word.Reset()
		if w == "" {
			return
		}
		add(w)
		// Two texts that differ in a number or a negation contradict each other, however alike they are.
		if negations[w] || strings.ContainsFunc(w, unicode.IsDigit) {
			strict = append(strict, w)
		}
	}
	var previous rune
	for _, r := range strings.ToLower(s) {
		if unicode.Is(unicode.Han, r) {
			flush()
			if negations[string(r)] {
				strict = append(strict, string(r))
			}
			if previous != 0 {
				add(string([]rune{previous, r}))
			} else {
				add(string(r))
			}
			previous = r
			continue
		}
		previous = 0
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			word.WriteRune(r)
		} else {
			flush()
		}
	}
	flush()
	slices.Sort(t.words)
	t.words = slices.Compact(t.words)
	t.exactTokens = strings.Join(strict, " ")
	return t
}
