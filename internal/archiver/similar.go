package archiver

import (
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// nearlySame is the share of common words from which two texts say the same, provided that they agree in every number and
// negation.
const nearlySame = 0.85

// similar finds texts that say what another one says.
type similar struct {
	exact    map[string]bool // normalised contents
	texts    []text
	byWord   map[string][]int   // texts by word
	failures map[[2]string]bool // by tool and class of error
}

type text struct {
	words  map[string]bool
	strict string // numbers and negations, in order
}

func newSimilar(known []*memory.Memory) *similar {
	s := &similar{exact: map[string]bool{}, byWord: map[string][]int{}, failures: map[[2]string]bool{}}
	for _, m := range known {
		s.add(m.Content, m.Context)
	}
	return s
}

// add adds what a memory says; context may be nil.
func (s *similar) add(content string, context *memory.Context) {
	if context != nil && context.Tool != "" && context.ErrorType != "" {
		s.failures[[2]string{context.Tool, context.ErrorType}] = true
	}
	s.exact[memory.Normalize(content)] = true
	t := textOf(content)
	for w := range t.words {
		s.byWord[w] = append(s.byWord[w], len(s.texts))
	}
	s.texts = append(s.texts, t)
}

// has reports whether a text like c's, or a rule about the same failure, is there.
func (s *similar) has(c candidate) bool {
	if x := c.context; x != nil && s.failures[[2]string{x.Tool, x.ErrorType}] {
		return true
	}
	if s.exact[memory.Normalize(c.content)] {
		return true
	}
	t := textOf(c.content)
	common := map[int]int{}
	for w := range t.words {
		for _, i := range s.byWord[w] {
			common[i]++
		}
	}
	for i, n := range common {
		o := s.texts[i]
		union := len(t.words) + len(o.words) - n
		if float64(n) >= nearlySame*float64(union) && t.strict == o.strict {
			return true
		}
	}
	return false
}

// negations turn a sentence round; leaving one out is a small difference in words and a large one in meaning.
var negations = map[string]bool{
	"not": true, "no": true, "never": true, "don": true, "without": true, "isn": true, "won": true, "can": true, "cannot": true,
	"doesn": true, "didn": true, "shouldn": true, "stop": true,
	"不": true, "没": true, "別": true, "别": true, "无": true, "勿": true, "非": true, "未": true, "莫": true,
}

// textOf cuts a text into words: runs of letters and digits, and pairs of neighbouring Han characters.
func textOf(s string) text {
	t := text{words: map[string]bool{}}
	var strict []string
	var word strings.Builder
	flush := func() {
		w := word.String()
		word.Reset()
		if w == "" {
			return
		}
		t.words[w] = true
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
				t.words[string([]rune{previous, r})] = true
			} else {
				t.words[string(r)] = true
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
	t.strict = strings.Join(strict, " ")
	return t
}
