package search

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// analyzer is a tokenizer with the buffers for one query and one change. It is not safe for concurrent use; the engine
// pools analyzers.
type analyzer struct {
	*analysis.Tokenizer

	before, after []termCount // terms of a memory before and after a change

	query      query          // the query parsed last
	queryTerms map[string]int // term → position in query.terms
}

func newAnalyzer(lex *analysis.Lexicon) *analyzer {
	return &analyzer{Tokenizer: analysis.NewTokenizer(lex)}
}

// termCount is one term of one document.
type termCount struct {
	term      string
	prefix    uint64 // of the term; see termPrefix
	frequency uint8  // weighted, at most maxFrequency
}

// termPrefix is the first eight bytes of a term as a number. It orders terms as their bytes do, and sorting by it is
// much faster than comparing strings.
func termPrefix(term string) (prefix uint64) {
	if len(term) >= 8 {
		return binary.BigEndian.Uint64([]byte(term[:8]))
	}
	for i := range len(term) {
		prefix |= uint64(term[i]) << (56 - 8*i)
	}
	return prefix
}

// docTerms are the distinct terms of one document, sorted.
type docTerms struct {
	terms  []termCount
	length float32 // in weighted words
}

// sameIndexedText reports whether two memories have the same terms.
func sameIndexedText(a, b *memory.Memory) bool {
	return a.Title == b.Title && a.Description() == b.Description() && a.Content == b.Content &&
		slices.Equal(a.Tags, b.Tags) && toolText(a) == toolText(b)
}

// toolText is the tool and error type of a procedural memory. It is indexed as a tag.
func toolText(m *memory.Memory) string {
	switch {
	case m.Context() == nil:
		return ""
	case m.Context().ErrorType == "":
		return m.Context().Tool
	}
	return m.Context().Tool + " " + m.Context().ErrorType
}

// analyze returns the terms of a memory. They use buf, which grows as needed and must not be in use.
func (a *analyzer) analyze(buf *[]termCount, m *memory.Memory) docTerms {
	d := docTerms{terms: slices.Grow((*buf)[:0], len(m.Content)/6+8)}
	add := func(text string, weight uint8) {
		if text == "" {
			return
		}
		for _, t := range a.Tokenize(analysis.Normalize(text)) {
			d.terms = append(d.terms, termCount{term: t.Term, prefix: termPrefix(t.Term), frequency: weight})
			if t.Kind != analysis.Compound && t.Kind != analysis.HanUnigram {
				d.length += float32(weight)
			}
		}
	}
	add(m.Title, metaWeight)
	add(m.Description(), metaWeight)
	for _, tag := range m.Tags {
		add(tag, metaWeight)
	}
	add(toolText(m), metaWeight)
	add(m.Content, contentWeight)
	slices.SortFunc(d.terms, func(a, b termCount) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return strings.Compare(a.term, b.term)
	})
	unique := d.terms[:0]
	for _, t := range d.terms {
		if n := len(unique); n > 0 && unique[n-1].term == t.term {
			unique[n-1].frequency = min(unique[n-1].frequency+t.frequency, maxFrequency)
		} else {
			unique = append(unique, t)
		}
	}
	d.terms, *buf = unique, unique
	return d
}
