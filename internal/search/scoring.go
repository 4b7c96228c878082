package search

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// boostSpan is how much salience and decay together move a balanced score at most.
const boostSpan = 0.1

const (
	dateShare         = 0.3  // share of the missing relevance, for a memory of the time that the query names
	phraseShare       = 0.5  // share of the missing relevance, for a memory that holds the query literally
	dateOnlyRelevance = 0.5  // relevance of a memory that was asked for by its date alone
	allTermsShare     = 0.99 // share of the query's weight that is all of it, rounding aside
	tailShare         = 0.15 // share of the best relevance below which the rest is noise
	poolExtra         = 20   // candidates kept beyond 2·k, for the reranker
	maxPhrase         = 200  // bytes of a query that is looked for literally
)

// ranking scores the candidates of one request.
type ranking struct {
	req             *Request
	q               *query
	scratch         *scratch
	lambda          float64
	decay           bool
	pool            topK
	relevant        int // documents proposed
	scored          int // of these, admitted by the filter
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
	questions       *questionVectors
	needsMemory     vector.Quantized // direction of prompts that need a memory
	sureQueries     *atomic.Int64    // of the engine
}

func newRanking(req *Request, q *query, e *Engine, s *scratch, indexOf func(source) *invertedIndex) *ranking {
	return &ranking{
		req: req, q: q, scratch: s, lambda: e.lambda, models: e.models, typical: e.typical, questions: e.questions,
		needsMemory: e.needsMemory,
		sureQueries: &e.sureQueries, indexOf: indexOf,
		decay: req.UseDecay == nil || *req.UseDecay,
		pool:  topK{limit: 2*req.K + poolExtra, items: s.pool[:0], heap: s.heap},
	}
}

// maxScore is the most that a memory of a salience scores with that relevance by words, before the rerank. The decay is
// at most 1.
func (r *ranking) maxScore(relevance, salience float64) float64 {
	if len(r.q.dates) > 0 {
		relevance += (1 - relevance) * dateShare
	}
	if r.req.Profile == Balanced {
		return relevance * (1 - boostSpan + boostSpan*salience) * (1 + 1e-9) // rounding
	}
	return math.Inf(1)
}

// admitsFeatures reports that the request admits a memory by its features alone. False means that the memory must be
// checked.
func (r *ranking) admitsFeatures(f *docFeatures) bool {
	return r.req.Filter.IsZero() && f.active && !f.expires && (!r.req.historical || f.created < unixNano(r.req.AsOf))
}

// matchesDate reports whether a memory was created at a time that the query names.
func (r *ranking) matchesDate(m *memory.Memory) bool {
	return slices.ContainsFunc(r.q.dates, func(d analysis.DateRange) bool { return d.Contains(m.CreatedAt) })
}

// matchesPhrase reports whether a memory holds the query as it was typed.
func (r *ranking) matchesPhrase(m *memory.Memory) bool {
	p := r.q.phrase
	if len(p) < 4 || len(p) > maxPhrase || !r.q.topic {
		return false
	}
	return analysis.ContainsPhrase(m.Content, p) || analysis.ContainsPhrase(m.Title, p)
}

// score is the score of Balanced and Recent. With rerank it includes what the reranker found and the literal phrase,
// and records the parts when the request asks for them.
func (r *ranking) score(c *candidate, rerank bool) float64 {
	relevance := c.relevance
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
	if r.req.Profile == Recent {
		return relevance
	}
	return relevance * r.boost(c, explain)
}

// boost is the factor of Balanced, from 1 − boostSpan to 1: salience · exp(−λ · days since the last access). It also
// sets what decides between equal scores, because the factor of two faint memories can be the same number.
func (r *ranking) boost(c *candidate, explain func(string, float64)) float64 {
	decay := r.decayOf(&c.features)
	c.tie = c.features.salience * decay
	boost := 1 - boostSpan + boostSpan*c.tie
	explain("salience", c.features.salience)
	explain("decay", decay)
	explain("boost", boost)
	return boost
}

// freshness is salience · decay, 0 to 1.
func (r *ranking) freshness(f *docFeatures) float64 { return f.salience * r.decayOf(f) }

// decayOf is exp(−λ · days since the last access).
func (r *ranking) decayOf(f *docFeatures) float64 {
	days, _ := f.idleDays(r.req)
	return r.decayFactor(r.lambda, days)
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
