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

// nearlySame is the share of common words from which two texts say the same, provided that they agree in every number and
// negation.
const nearlySame = 0.85

// similar finds texts that say what another one says. It keeps hashes, not texts: there may be a hundred thousand.
type similar struct {
	exact    map[uint64]bool    // normalised contents
	texts    []text             // by ordinal
	byWord   map[uint64][]int32 // ordinals by word
	failures map[[2]string]bool // by tool and class of error
}

// text is what comparison keeps of a text.
type text struct {
	words  []uint64 // distinct, sorted
	strict string   // numbers and negations, in order
}

// seed of all hashes; they never leave the process.
var seed = maphash.MakeSeed()

func newSimilar(known []*memory.Memory) *similar {
	s := &similar{exact: map[uint64]bool{}, byWord: map[uint64][]int32{}, failures: map[[2]string]bool{}}
	for _, m := range known {
		s.add(m.Content, m.Context)
	}
	return s
}

func exactly(content string) uint64 { return maphash.String(seed, memory.Normalize(content)) }

// add adds what a memory says; context may be nil.
func (s *similar) add(content string, context *memory.Context) {
	if context != nil && context.Tool != "" && context.ErrorType != "" {
		s.failures[[2]string{context.Tool, context.ErrorType}] = true
	}
	s.exact[exactly(content)] = true
	t := textOf(content)
	for _, w := range t.words {
		s.byWord[w] = append(s.byWord[w], int32(len(s.texts)))
	}
	s.texts = append(s.texts, t)
}

// has reports whether a text like c's, or a rule about the same failure, is there.
func (s *similar) has(c candidate) bool {
	if x := c.context; x != nil && s.failures[[2]string{x.Tool, x.ErrorType}] {
		return true
	}
	if s.exact[exactly(c.content)] {
		return true
	}
	t := textOf(c.content)
	return slices.ContainsFunc(s.near(t, nearlySame), func(i int32) bool { return s.texts[i].strict == t.strict })
}

// near lists the texts whose overlap with t is at least so much, in order. Such a text shares so much of t's words; so it has one of the rarest of
// them, all but that share, and only the texts of these are looked at.
func (s *similar) near(t text, least float64) (out []int32) {
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

// overlap is the share of common words, 0 to 1.
func (t text) overlap(o text) float64 {
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

// negations turn a sentence round; leaving one out is a small difference in words and a large one in meaning.
var negations = map[string]bool{
	"not": true, "no": true, "never": true, "don": true, "without": true, "isn": true, "won": true, "can": true, "cannot": true,
	"doesn": true, "didn": true, "shouldn": true, "stop": true,
	"不": true, "没": true, "別": true, "别": true, "无": true, "勿": true, "非": true, "未": true, "莫": true,
}

// textOf cuts a text into words: runs of letters and digits, and pairs of neighbouring Han characters.
func textOf(s string) text {
	var t text
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
	t.strict = strings.Join(strict, " ")
	return t
}
