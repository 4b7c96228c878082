package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

const (
	maxSimilarityContradicting = 0.9  // of texts that differ in a number or a negation: they do not say the same
	maxSimilarityDifferent     = 0.99 // of texts that are not equal, whatever words they share
	duplicateSimilarity        = 0.9  // above it a hit is a near-duplicate of a better one
)

// shingles are the parts of a text that similarity compares.
type shingles struct {
	canonical []byte   // the text as memory.AppendNormalized makes it
	terms     []string // sorted, distinct
	negations int
}

// setShingles sets s to the shingles of a text and reuses its buffers.
func (a *analyzer) setShingles(s *shingles, text string) {
	s.canonical = memory.AppendNormalized(s.canonical[:0], text)
	text = analysis.Normalize(text)
	s.terms = s.terms[:0]
	for _, t := range a.Tokenize(text) {
		if kindCountsForDedup(t.Kind) {
			s.terms = append(s.terms, t.Term)
		}
	}
	slices.Sort(s.terms)
	s.terms = slices.Compact(s.terms)
	s.negations = analysis.Negations(text)
}

// kindCountsForDedup reports whether similarity compares terms of a kind: the parts of a compound and the characters of
// a bigram would count twice.
func kindCountsForDedup(k analysis.Kind) bool {
	return k != analysis.HanUnigram && k != analysis.Subword
}

// similarity of two texts, 0 to 1: the weighted Dice coefficient of their terms. It is 1 only for texts that are equal
// after memory.Normalize.
func similarity(a, b *shingles, weight func(term string) float64) float64 {
	if bytes.Equal(a.canonical, b.canonical) {
		return 1
	}
	var shared, all float64
	limit := maxSimilarityDifferent
	unshared := func(term string) {
		all += weight(term)
		if strings.ContainsFunc(term, unicode.IsNumber) {
			limit = maxSimilarityContradicting
		}
	}
	i, j := 0, 0
	for i < len(a.terms) && j < len(b.terms) {
		switch c := strings.Compare(a.terms[i], b.terms[j]); {
		case c == 0:
			w := weight(a.terms[i])
			shared, all = shared+2*w, all+2*w
			i, j = i+1, j+1
		case c < 0:
			unshared(a.terms[i])
			i++
		default:
			unshared(b.terms[j])
			j++
		}
	}
	for _, t := range a.terms[i:] {
		unshared(t)
	}
	for _, t := range b.terms[j:] {
		unshared(t)
	}
	if all == 0 {
		return 0
	}
	if a.negations != b.negations {
		limit = maxSimilarityContradicting
	}
	return min(shared/all, limit)
}

// dedupEntry is a memory prepared for the comparison with other hits. What is expensive is made when first needed.
type dedupEntry struct {
	memory      *memory.Memory
	bigrams     bigramHistogram
	numbers     []string // runs of ASCII digits
	wideDigits  bool     // the text has full-width digits, which numbers lacks
	hasNumbers  bool     // numbers is set
	shingles    shingles
	hasShingles bool // shingles is set
}

// setMemory makes e the entry of a memory and reuses its buffers.
func (e *dedupEntry) setMemory(m *memory.Memory) {
	e.memory, e.hasNumbers, e.hasShingles = m, false, false
	e.bigrams.reset(m.Content)
}

// numbersDiffer reports whether one of two texts has a number that the other lacks. It is false with full-width digits.
func (e *dedupEntry) numbersDiffer(o *dedupEntry) bool {
	e.findNumbers()
	o.findNumbers()
	missingIn := func(all []string) func(string) bool {
		return func(n string) bool { return !slices.Contains(all, n) }
	}
	return !e.wideDigits && !o.wideDigits &&
		(slices.ContainsFunc(e.numbers, missingIn(o.numbers)) || slices.ContainsFunc(o.numbers, missingIn(e.numbers)))
}

// findNumbers sets the numbers of the text.
func (e *dedupEntry) findNumbers() {
	if e.hasNumbers {
		return
	}
	e.hasNumbers, e.numbers = true, e.numbers[:0]
	text := e.memory.Content
	e.wideDigits = strings.ContainsAny(text, "０１２３４５６７８９")
	for i := 0; i < len(text); i++ {
		from := i
		for i < len(text) && text[i]-'0' < 10 {
			i++
		}
		if i > from {
			e.numbers = append(e.numbers, text[from:i])
		}
	}
}

// bigramHistogram counts hashed pairs of neighbouring bytes. Near-duplicates have similar histograms, which are much
// cheaper to compare than texts.
type bigramHistogram [256]uint8

func (h *bigramHistogram) reset(text string) {
	clear(h[:])
	last := byte(0)
	for i := range len(text) {
		b := text[i] | 0x20
		h[last*31+b]++
		last = b
	}
}

// distance is the L1 distance of two histograms.
func (h *bigramHistogram) distance(o *bigramHistogram) (n int) {
	for i := range h {
		d := int(int8(h[i] - o[i]))
		n += max(d, -d)
	}
	return n
}

// isNearDuplicate reports whether a hit says the same as a better one. Texts of different length never do.
func (a *analyzer) isNearDuplicate(better, hit *dedupEntry) bool {
	short, long := len(better.memory.Content), len(hit.memory.Content)
	if short > long {
		short, long = long, short
	}
	if short*5 < long*4 || better.bigrams.distance(&hit.bigrams)*2 > long {
		return false
	}
	if better.memory.Content == hit.memory.Content {
		return true
	}
	if better.numbersDiffer(hit) {
		return false // similarity would be at most duplicateSimilarity
	}
	for _, e := range []*dedupEntry{better, hit} {
		if !e.hasShingles {
			a.setShingles(&e.shingles, e.memory.Content)
			e.hasShingles = true
		}
	}
	return similarity(&better.shingles, &hit.shingles, func(string) float64 { return 1 }) > duplicateSimilarity
}
