package search

import (
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// maxHead is how many bytes of a memory are looked at for a speaker or subject.
const maxHead = 40

// addNames adds the evidence of names when the query names exactly one of the speakers and subjects in the pool. With two
// of them, who is meant is not known.
func (c *evidenceCollector) addNames() {
	named := ""
	var docs []int
	for i := range c.pool {
		name := c.subjectNamed(c.index.docs[c.pool[i].doc])
		switch {
		case name == "":
		case named == "" || named == name:
			named = name
			docs = append(docs, i)
		default:
			return
		}
	}
	for _, i := range docs {
		c.pool[i].named = 1
		c.pool[i].first += namedWeight
	}
}

// subjectNamed is the speaker of a memory, or its first word when it is a name, if the query contains it; "" otherwise.
func (r *ranking) subjectNamed(m *memory.Memory) string {
	head := m.Content[:min(len(m.Content), maxHead)]
	if speaker, _, ok := analysis.CutSpeaker(head); ok {
		if speaker = strings.ToLower(speaker); len(speaker) > 1 && analysis.ContainsPhrase(r.q.phrase, speaker) {
			return speaker
		}
		return ""
	}
	first, _, _ := strings.Cut(head, " ")
	first = strings.ToLower(analysis.TrimClitic(first))
	if len(first) > 1 && slices.ContainsFunc(r.q.terms, func(t queryTerm) bool { return t.name > 0 && t.term == analysis.Stem(first) }) {
		return first
	}
	return ""
}
