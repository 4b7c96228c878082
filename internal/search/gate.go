package search

import (
	"slices"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
)

// An implicit request is a prompt that did not ask for memories. Words do not tell whether a memory bears on it: an
// unrelated prompt shares a word by accident, and a paraphrase shares none. What tells is how near the nearest memories
// are, how much the prompt resembles typical memories of other people, and how much it resembles prompts that need a
// memory: small talk, "continue" and questions of general knowledge resemble none. The gate is a logistic regression of
// these features.

// gateFeatures are the best evidence among the candidates of a prompt: of those in its language, and of the others.
// Each feature is the best by itself, but for distinct, which is of one memory.
type gateFeatures struct {
	same, other gateEvidence
	identifiers int
	words       bool // a memory without vectors has the evidence that words alone require
}

type gateEvidence struct {
	found    bool
	sum      float64 // evidence of the best
	words    float64
	distinct float64 // sum of a memory's cosines less its familiarity
	cosine   float64 // by e5
	tokens   float64 // by e5
}

// observe updates the best features by those of one candidate, of a familiarity. e5 is the position of the model.
func (g *gateEvidence) observe(w *docEvidence, familiarity float64, e5 int) {
	distinct := -familiarity
	for _, cosine := range w.cosines {
		distinct += cosine
	}
	if !g.found {
		*g = gateEvidence{true, w.sum, w.words, distinct, w.cosines[e5], w.tokens[e5]}
		return
	}
	g.sum, g.words, g.distinct = max(g.sum, w.sum), max(g.words, w.words), max(g.distinct, distinct)
	g.cosine, g.tokens = max(g.cosine, w.cosines[e5]), max(g.tokens, w.tokens[e5])
}

// observeGate updates the features of the gate by the candidates of a source.
func (c *evidenceCollector) observeGate() {
	e5, minilm := c.modelIndex("e5"), c.modelIndex("minilm")
	if !c.req.Implicit || c.source.isCollection() || e5 < 0 || minilm < 0 {
		return
	}
	english := c.models[minilm].Supports(c.req.Query)
	for i := range c.pool {
		w, g := &c.pool[i], &c.gate.other
		if c.index.vectors[minilm].rows.Has(int(w.doc)) == english {
			g = &c.gate.same
		}
		g.observe(w, c.familiarity[w.doc], e5)
		c.gate.identifiers = max(c.gate.identifiers, w.identifiers)
	}
}

// observeWords looks at the candidates from a place in the pool on that have no vectors yet, such as what was told a
// moment ago: words decide about them, as they do without models.
func (c *evidenceCollector) observeWords(from int) {
	if !c.req.Implicit || c.source.isCollection() {
		return
	}
	var places []int
	for i := range c.pool {
		if c.awaitsVectors(c.pool[i].doc) {
			places = append(places, from+i)
		}
	}
	if len(places) == 0 {
		return // all have vectors but for a moment after a write
	}
	words := &reranker{ranking: c.ranking, index: c.index, source: c.source, totalWeight: c.total}
	c.gate.words = c.gate.words || words.wordEvidence(places) >= 1
}

// gateCase selects the regression of the gate.
type gateCase int

const (
	gateEnglish gateCase = iota // an English prompt about memories with MiniLM vectors
	gateE5                      // another prompt about memories in its language
	gateCross                   // a prompt about memories in another language
	gateCases
)

// regression is a logistic regression: a request is answered when the sum is above 0.
type regression struct {
	intercept float64
	weights   []float64 // of the features of gateInput, in their order
}

func (g regression) logit(features []float64) float64 {
	sum := g.intercept
	for i, w := range g.weights {
		sum += float64(w * features[i])
	}
	return sum
}

// gateRegressions are fitted on the stores of eleven people, in bench/retrieval/testdata and fitdata: prompts that a
// memory answers against unrelated prompts and, with .7 of the negatives' weight, questions that belong to another
// store. Each case is in the fit twice, with the typical memories of the two stores and without: people differ from
// the typical ones as much. TestFitGate makes the fit, and measures it on stores that it did not see. The intercepts
// are lower than fitted, by .12 in English, .32 in other languages and .55 across languages: a memory that does not
// concern the prompt is worse than silence.
var gateRegressions = [gateCases]regression{
	// Words that a memory shares while its meaning is far are shared by accident: within a language they count against
	// an answer.
	gateEnglish: {-4.509, []float64{8.292, -3.271, -12.59, -1.313, 4.78, 7.645}},
	gateE5:      {-5.042, []float64{15.28, -6.097, 6.015, -20.59, 0.9866, 8.829}},
	gateCross:   {-5.71, []float64{12.75, 2.084, 9.334, -19.12, -1.298, 8.725}},
}

// gateInput returns the features of a request, and which regression they are for: that of the language of the best
// candidate. It returns no features without a candidate.
func (r *ranking) gateInput(typical *typicalMemories) (gateCase, []float64) {
	e5, minilm := r.modelIndex("e5"), r.modelIndex("minilm")
	likeness, nearest := typical.likeness(e5, r.queries[e5].Vector)
	needs := r.needsMemory.Cosine(r.queries[e5].Vector)
	same, other := &r.gate.same, &r.gate.other
	switch {
	case other.found && (!same.found || other.sum > same.sum):
		return gateCross, []float64{other.distinct, other.cosine, other.tokens, likeness, nearest, needs}
	case !same.found:
		return gateE5, nil
	case !r.minilmVector():
		return gateE5, []float64{same.distinct, same.words, same.cosine, likeness, nearest, needs}
	}
	_, nearestMiniLM := typical.likeness(minilm, r.queries[minilm].Vector)
	return gateEnglish, []float64{same.distinct, same.words, likeness, nearest, nearestMiniLM, needs}
}

// modelIndex is the position of a model by name, -1 when the engine does not have it.
func (r *ranking) modelIndex(name string) int {
	return slices.IndexFunc(r.models, func(m embedding.Model) bool { return m.Name() == name })
}

// minilmVector reports whether the query has a vector by MiniLM: it is English, and so are memories of the spaces.
func (r *ranking) minilmVector() bool {
	i := r.modelIndex("minilm")
	return i >= 0 && i < len(r.queries) && r.queries[i].Vector.Dim() > 0
}

// hasGate reports whether the features of the gate are available: both models inside, in the versions of the typical
// memories and of the direction of prompts. Otherwise an implicit request is decided by words.
func (r *ranking) hasGate() bool {
	e5, minilm := r.modelIndex("e5"), r.modelIndex("minilm")
	if e5 < 0 || minilm < 0 || r.queries[e5].Vector.Dim() == 0 || r.needsMemory.Dim() == 0 {
		return false
	}
	return len(r.typical[e5]) > 0 && len(r.typical[minilm]) > 0
}

// passesGate reports whether an implicit request is answered.
func (r *ranking) passesGate() bool {
	if r.gate.identifiers > 0 || r.gate.words {
		return true
	}
	which, features := r.gateInput(r.typical)
	return features != nil && gateRegressions[which].logit(features) > 0
}
