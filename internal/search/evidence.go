package search

import (
	"math"
	"slices"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// The evidence that a memory bears on a query is one sum of absolute parts. No part depends on the size of the store,
// on its other memories' scores or on other spaces: a store of three memories behaves as one of ten thousand.
//
//	first = 1.7 · words + cosines + named + .8 · date
//	final = 1.7 · words + (cosines − familiarity) / 2 + tokens + named + .8 · date        of the best by first
//
// words is BM25 as a share of its upper bound for the query. cosines, familiarity and tokens are sums over the models;
// of a memory that one of two models cannot read they count otherLanguage times.
// tokens is late interaction (Khattab and Zaharia 2020, "ColBERT"). The weights are flat: half or double loses less
// than a point.
const (
	wordWeight     = 1.7
	namedWeight    = 0.3 // the query names the speaker of a note, or a relation that the memory names
	speakerWeight  = 0.5 // the query names the speaker of the turn
	relativeWeight = 0.5 // the memory names the relative of the user whom the query names
	dateWeight     = 0.8 // the memory is of the time that the query names
	sessionSpread  = 0.3 // share of the words of the neighbours in a session
	pooledShare    = 0.5 // weight of cosines beside tokens
	otherLanguage  = 1.5 // weight of what one model says of a Chinese memory when two read the others

	identifierEvidence = 4.0 // of a memory that holds an identifier of the query: more than all else together
)

// maxModels is how many models an engine may have.
const maxModels = 4

// docEvidence is the evidence of one document, by part.
type docEvidence struct {
	doc         uint32
	words       float64            // with the neighbours' share
	own         float64            // words of its own
	cosine      float64            // sum over the models
	cosines     [maxModels]float64 // by model
	tokens      [maxModels]float64 // late interaction, by model
	named       float64            // of a speaker or a relation
	date        float64
	context     float64 // of a turn: question before it, length, session
	identifiers int     // of the query that it holds
	first       float64 // by which it became a candidate
	sum         float64
}

// evidenceCollector sums up the evidence of the documents of one source. It lives while the index is locked.
type evidenceCollector struct {
	*ranking
	index       *invertedIndex
	source      source
	total       float64                       // weight of the query
	cosines     []float32                     // by document, weighed sum over the models
	minilm      *vector.Rows                  // nil when the query has no vector by MiniLM
	pool        []docEvidence                 // the best by first, then by sum
	byDoc       map[uint32]int                // document → position in pool
	matches     map[uint32]tokenMatches       // by document; nil without token vectors
	tokens      map[uint32][maxModels]float64 // by document and model; of those compared
	familiarity map[uint32]float64            // by document; of those compared
	leastTokens float64                       // least sum of those compared
	meanMeaning float64                       // of those compared
}

// useEvidence reports whether the request is ranked by evidence: it has a query vector whose cosines are calibrated.
func (r *ranking) useEvidence() bool {
	if r.req.Profile != Balanced || r.embedQueries == nil || r.req.Arm != Vector && !slices.ContainsFunc(r.models, embedding.Model.Calibrated) {
		return false // a server's model is not asked before words found something
	}
	if r.wordsAreSure() {
		r.sureQueries.Add(1)
		r.queries = make([]embedding.Query, len(r.models))
		return true
	}
	embedded := false
	for i, q := range r.embedAll() {
		embedded = embedded || q.Vector.Dim() > 0 && (r.models[i].Calibrated() || r.req.Arm == Vector)
	}
	if embedded && (!r.req.Implicit || r.hasGate()) {
		return true
	}
	if !slices.ContainsFunc(r.models, func(m embedding.Model) bool { return !m.Calibrated() }) {
		r.embedQueries = nil // words decide alone
	}
	return false
}

// collectByEvidence adds the candidates of a source by their evidence. It returns how many documents share a term with
// the query. Every document is looked at once, cheaply; only the best are compared by tokens, whose vectors are on
// disk.
func (r *ranking) collectByEvidence(x *invertedIndex, src source, s *scratch) (matched int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c := &evidenceCollector{ranking: r, index: x, source: src, total: float64(x.weighTerms(r.q.terms)), byDoc: map[uint32]int{}}
	if r.req.Arm == Vector {
		c.total = 0
	}
	s.terms = matchedTerms(s.terms, r.q.terms, 0)
	x.accumulate(s, s.terms)
	c.selectFirst()
	c.addIdentifiers()
	c.sumTokens()
	c.sumEvidence()
	c.observeGate()
	before := len(r.pool.items)
	for i := range c.pool {
		c.addCandidate(&c.pool[i])
	}
	c.observeWords(before)
	return len(s.touched)
}

// sumEvidence sets the sum of each candidate.
func (c *evidenceCollector) sumEvidence() {
	for i := range c.pool {
		w := &c.pool[i]
		w.cosines, w.tokens = c.cosinesOf(w.doc), c.tokens[w.doc]
		w.sum = float64(wordWeight*w.words) + c.meaning(w.doc) + w.named + float64(dateWeight*w.date)
	}
	c.addDialogue()
}

// meaning is the evidence of cosines and tokens of a document. One that was not compared has the least tokens of those
// that were: it is no better than the worst candidate, and no worse for not having been looked at. One whose vectors
// are not made yet has the mean of those compared: otherwise what was told a moment ago would lose to everything older.
func (c *evidenceCollector) meaning(doc uint32) float64 {
	if c.matches == nil {
		return float64(c.cosines[doc])
	}
	compared, ok := c.tokens[doc]
	switch {
	case c.awaitsVectors(doc):
		return c.meanMeaning
	case ok:
		weight := c.languageWeight(doc)
		return float64(pooledShare*(float64(c.cosines[doc])-weight*c.familiarity[doc])) + float64(weight*sumOf(compared))
	}
	return float64(pooledShare*float64(c.cosines[doc])) + c.leastTokens
}

// languageWeight is the weight of what the models say of a document. MiniLM reads no Chinese: without a weight an
// English question would find hardly a Chinese memory beside English ones, whose evidence has one part more.
func (c *evidenceCollector) languageWeight(doc uint32) float64 {
	if c.minilm != nil && !c.minilm.Has(int(doc)) {
		return otherLanguage
	}
	return 1
}

// awaitsVectors reports whether a document has no vector of any model of the query.
func (c *evidenceCollector) awaitsVectors(doc uint32) bool {
	for i, q := range c.queries {
		if q.Vector.Dim() > 0 && c.index.vectors[i].rows.Has(int(doc)) {
			return false
		}
	}
	return true
}

// sumOf adds up over the models.
func sumOf(byModel [maxModels]float64) (sum float64) {
	for _, v := range byModel {
		sum += v
	}
	return sum
}

// cosinesOf are the cosines of a document by model.
func (c *evidenceCollector) cosinesOf(doc uint32) (cosines [maxModels]float64) {
	for i, q := range c.queries {
		if q.Vector.Dim() > 0 && !c.source.isCollection() {
			cosines[i], _ = c.index.vectors[i].cosine(doc, q.Vector)
		}
	}
	return cosines
}

// addCandidate turns the evidence of a document into a candidate.
func (c *evidenceCollector) addCandidate(w *docEvidence) {
	m := c.index.docs[w.doc]
	sum := w.sum
	if w.identifiers > 0 {
		sum += identifierEvidence * float64(w.identifiers) / float64(len(c.q.identifiers))
	}
	cand := candidate{
		source: c.source, memory: m, doc: w.doc, features: c.index.features[w.doc], relevance: w.words, evidence: sum,
		identifiers: w.identifiers, cosine: w.cosine,
	}
	if i := c.modelIndex("minilm"); i >= 0 {
		cand.twoModels = w.cosines[i] != 0 || w.cosine != 0 && c.languageWeight(w.doc) != 1
	}
	if c.req.Explain {
		cand.parts = append(c.index.explainTerms(c.q.terms, w.doc), c.explainEvidence(w)...)
	}
	c.relevant++
	c.scored++
	c.ranking.pool.items = append(c.ranking.pool.items, cand)
}

// explainEvidence lists the parts of the evidence that are not 0. They sum up to it, but for the cosines, of which half
// counts.
func (c *evidenceCollector) explainEvidence(w *docEvidence) (parts []Part) {
	add := func(name string, v float64) {
		if v != 0 {
			parts = append(parts, Part{name, v})
		}
	}
	add("words", wordWeight*w.words)
	for i, m := range c.models {
		add("cosine:"+m.Name(), w.cosines[i])
		add("tokens:"+m.Name(), w.tokens[i])
	}
	add("familiarity", -pooledShare*c.familiarity[w.doc])
	if _, compared := c.tokens[w.doc]; compared {
		add("other language", c.meaning(w.doc)*(1-1/c.languageWeight(w.doc)))
	}
	add("named", w.named)
	add("date", dateWeight*w.date)
	add("dialogue", w.context)
	return parts
}

// lessThanAny is below every evidence.
var lessThanAny = math.Inf(-1)
