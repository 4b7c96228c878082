package search

import (
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// maxHead is how many bytes of a memory are looked at for a speaker.
const maxHead = 40

// addNames adds the evidence of a name when the query names exactly one of the speakers in the pool. With two of them,
// who is meant is not known. The name of whom a fact is about is a word of the fact, and counts as such alone.
func (c *evidenceCollector) addNames() {
	named := ""
	var docs []int
	for i := range c.pool {
		name := c.speakerNamed(c.index.docs[c.pool[i].doc])
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
		evidence := namedWeight
		if c.isTurn(c.pool[i].doc) {
			evidence = speakerWeight
		}
		c.addNamed(i, evidence)
	}
}

// addRelations adds the evidence of a name to the memories about a relative of the user whom the query names as "my
// wife": those that name the relation and, more, those with the name that they give to the person, when it is one.
func (c *evidenceCollector) addRelations() {
	if len(c.q.relations) == 0 {
		return
	}
	name := ""
	for i := range c.pool {
		text := c.index.docs[c.pool[i].doc].Content
		if !analysis.HoldsRelation(text, c.q.relations) {
			continue
		}
		c.addNamed(i, namedWeight)
		switch given := strings.ToLower(analysis.NameOfRelation(text)); {
		case given == "" || given == name:
		case name == "":
			name = given
		default:
			return // two sons: who is meant is not known
		}
	}
	for i := range c.pool {
		text := c.index.docs[c.pool[i].doc].Content
		if name != "" && analysis.ContainsPhrase(text, name) && !analysis.HoldsRelation(text, c.q.relations) {
			c.addNamed(i, relativeWeight)
		}
	}
}

// addNamed gives a candidate at least this evidence of a name.
func (c *evidenceCollector) addNamed(i int, evidence float64) {
	w := &c.pool[i]
	if gain := evidence - w.named; gain > 0 {
		w.named += gain
		w.first += gain
	}
}

// speakerNamed is the speaker of a memory, if the query contains the name or a variant of it; "" otherwise.
func (r *ranking) speakerNamed(m *memory.Memory) string {
	speaker, _, _ := analysis.CutSpeaker(m.Content[:min(len(m.Content), maxHead)])
	speaker = strings.ToLower(speaker)
	if len(speaker) > 1 && (analysis.ContainsPhrase(r.q.phrase, speaker) || r.namesVariantOf(speaker)) {
		return speaker
	}
	return ""
}

// namesVariantOf reports whether a name in the query is a variant of a name. A store spells a name one way, and who
// asks another.
func (r *ranking) namesVariantOf(name string) bool {
	return slices.ContainsFunc(r.q.terms, func(t queryTerm) bool { return t.name > 0 && isNameVariant(t.term, name) })
}

const (
	minShortName = 3 // letters of a short form: Mel for Melanie
	minTypedName = 4 // letters of a name in which one may be wrong: Jon and Joe are two people
)

// isNameVariant reports whether one of two lower-case names is the beginning of the other, or they differ by one letter
// that is wrong, missing or too much. The first letter must be the same.
func isNameVariant(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	switch {
	case len(a) < minShortName || a[0] != b[0]:
		return false
	case strings.HasPrefix(b, a):
		return true
	case len(a) < minTypedName || len(b)-len(a) > 1:
		return false
	}
	i := 0
	for a[i] == b[i] { // they differ: a is no beginning of b
		i++
	}
	if len(a) == len(b) {
		return a[i+1:] == b[i+1:]
	}
	return a[i:] == b[i+1:]
}
