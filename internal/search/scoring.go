package search

import (
	"math"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// The boost moves a balanced score by at most boostSpan. Its parts sum up to 1.
const (
	boostSpan     = 0.1
	boostSalience = 0.4
	boostRecency  = 0.3
	boostAccess   = 0.2
	boostPin      = 0.1
	fullAccess    = 20 // accesses from which on the boost is full
)

const (
	dateShare         = 0.3  // share of the missing relevance, for a memory of the time that the query names
	phraseShare       = 0.5  // share of the missing relevance, for a memory that holds the query literally
	dateOnlyRelevance = 0.5  // relevance of a memory that was asked for by its date alone
	allTermsShare     = 0.99 // share of the query's weight that is all of it, rounding aside
	tailShare         = 0.15 // share of the best relevance below which the rest is noise
	poolExtra         = 20   // candidates kept beyond 2·k, for the reranker
	maxPhrase         = 200  // bytes of a query that is looked for literally
)

// The weights of Weighted.
const (
	weightRelevance  = 0.6
	weightDecay      = 0.2
	weightSalience   = 0.2
	weightedTimeDays = 30 // days in which its decay falls to 1/e
)

// ranking scores the candidates of one request.
type ranking struct {
	req             *Request
	q               *query
	scratch         *scratch
	lambda          float64
	asOf            int64 // nanoseconds since 1970
	decay           bool
	pool            topK
	relevant        int // documents proposed
	scored          int // of these, admitted by the filter
	categoryCounts  map[string]int
	models          []embedding.Model
	indexOf         func(source) *invertedIndex
	identifierFound bool // a candidate holds an identifier of the query

	embedQueries    func() []embedding.Query // by model, zero where there is none; nil without vectors
	queries         []embedding.Query        // by model, once they are embedded
	queryModel      int                      // model of queryVector
	queryVector     vector.Quantized
	hasQueryVector  bool
	nearestBySource map[source][]vectorNeighbor
	vectorsUsed     bool
	gate            gateFeatures // best features of the candidates
	typical         *typicalMemories
}

func newRanking(req *Request, q *query, e *Engine, s *scratch) *ranking {
	return &ranking{
		req: req, q: q, scratch: s, lambda: e.lambda, models: e.models, typical: &e.typical, indexOf: e.sourceIndexes(req),
		asOf:  unixNano(req.AsOf),
		decay: req.UseDecay == nil || *req.UseDecay,
		pool:  topK{limit: 2*req.K + poolExtra, items: s.pool[:0], heap: s.heap},
	}
}

// maxScore is the most that any memory scores with that relevance by words, before the rerank. Boost, salience and
// decay are at most 1.
func (r *ranking) maxScore(relevance float64) float64 {
	if len(r.q.dates) > 0 {
		relevance += (1 - relevance) * dateShare
	}
	switch r.req.Profile {
	case Balanced, Product:
		return relevance * (1 + 1e-9) // rounding
	case Weighted:
		return (weightRelevance*relevance + weightDecay + weightSalience) * (1 + 1e-9)
	}
	return math.Inf(1)
}

// admitsFeatures reports that the request admits a memory by its features alone. False means that the memory must be
// checked.
func (r *ranking) admitsFeatures(f *docFeatures) bool {
	return r.req.Filter.IsZero() && f.active && !f.expires && f.created < r.asOf
}

// matchesDate reports whether a memory was created at a time that the query names.
func (r *ranking) matchesDate(m *memory.Memory) bool {
	return slices.ContainsFunc(r.q.dates, func(d analysis.DateRange) bool { return d.Contains(m.CreatedAt) })
}

// categoryMatches counts the words of the query in the category of a memory, plural or not.
func (r *ranking) categoryMatches(m *memory.Memory) int {
	n, ok := r.categoryCounts[m.Category]
	if ok {
		return n
	}
	for field := range strings.FieldsFuncSeq(m.Category, analysis.IsNameSeparator) {
		stem := analysis.Stem(field)
		if slices.ContainsFunc(r.q.terms, func(t queryTerm) bool {
			return t.kind <= analysis.Subword && t.term == stem
		}) {
			n++
		}
	}
	if r.categoryCounts == nil {
		r.categoryCounts = map[string]int{}
	}
	r.categoryCounts[m.Category] = n
	return n
}

// matchesPhrase reports whether a memory holds the query as it was typed.
func (r *ranking) matchesPhrase(m *memory.Memory) bool {
	p := r.q.phrase
	if len(p) < 4 || len(p) > maxPhrase || !r.q.topic {
		return false
	}
	return analysis.ContainsPhrase(m.Content, p) || analysis.ContainsPhrase(m.Title, p)
}

// score is the score of every profile but Overlap. With rerank it includes what the reranker found and the literal
// phrase, and records the parts when the request asks for them.
func (r *ranking) score(c *candidate, rerank bool) float64 {
	f, relevance := &c.features, c.relevance
	explain := func(name string, v float64) {
		if rerank && r.req.Explain {
			c.parts = append(c.parts, Part{name, v})
		}
	}
	if c.dateOnly {
		explain("date", relevance)
	} else {
		explain("keyword", relevance)
	}
	if len(r.q.dates) > 0 && !c.dateOnly && r.matchesDate(c.memory) {
		gain := (1 - relevance) * dateShare
		explain("date", gain)
		relevance += gain
	}
	if rerank && c.allTerms && r.matchesPhrase(c.memory) {
		gain := (1 - relevance) * phraseShare
		explain("phrase", gain)
		relevance += gain
	}
	if rerank && r.req.Profile == Balanced {
		relevance = r.rerankRelevance(c, relevance, explain)
	}
	explain("relevance", relevance)
	switch r.req.Profile {
	case Product, Weighted:
		return r.sourceScore(relevance, f, explain)
	case Recent:
		return relevance
	}
	return relevance * r.boost(f, explain)
}

// sourceScore is the score of Product and Weighted, the formulas of the systems that memsidecar follows: similarity,
// salience and decay by whole days.
func (r *ranking) sourceScore(similarity float64, f *docFeatures, explain func(string, float64)) float64 {
	days := f.idleDays(r.asOf)
	if r.req.Profile == Product {
		decay := r.decayFactor(r.lambda, days)
		explain("salience", f.salience)
		explain("decay", decay)
		return similarity * f.salience * decay
	}
	decay := r.decayFactor(1.0/weightedTimeDays, days)
	explain("decay", decay)
	explain("salience", f.salience)
	return weightRelevance*similarity + weightDecay*decay + weightSalience*f.salience
}

// boost is the factor of Balanced, from 1 − boostSpan to 1.
func (r *ranking) boost(f *docFeatures, explain func(string, float64)) float64 {
	recency, pin := 0.0, 0.0
	if r.decay {
		recency = boostRecency * math.Exp(-r.lambda*f.idleDays(r.asOf))
	}
	if f.pinned {
		pin = boostPin
	}
	explain("salience", boostSalience*f.salience)
	explain("recency", recency)
	explain("access", f.accessBoost)
	explain("pin", pin)
	boost := 1 - boostSpan + boostSpan*(boostSalience*f.salience+recency+f.accessBoost+pin)
	explain("boost", boost)
	return boost
}

// decayFactor is exp(−rate·days), or 1 when the request does without decay.
func (r *ranking) decayFactor(rate, days float64) float64 {
	if !r.decay {
		return 1
	}
	return math.Exp(-rate * days)
}

// rerankRelevance adds the gains of the reranker to a relevance by words. The result is 0 to 1.
func (r *ranking) rerankRelevance(c *candidate, relevance float64, explain func(string, float64)) float64 {
	add := func(name string, gain float64) {
		if gain = min(gain, 1-relevance); gain != 0 {
			explain(name, gain)
			relevance += gain
		}
	}
	add("vector", c.vectorGain)
	add("neighbours", c.neighborGain)
	add("subject", relevance*r.subjectShare(c.memory))
	switch {
	case c.identifiers > 0:
		share := min(1, float64(c.identifiers)/float64(len(r.q.identifiers)))
		add("exact", identifierFloor+(1-identifierFloor)*(0.7*share+0.3*relevance)-relevance)
	case r.identifierFound:
		add("inexact", (withoutIdentifier-1)*relevance)
	}
	return relevance
}
