package search

import (
	"iter"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// Product, Weighted and Overlap are the formulas of the systems that memsidecar follows, to the letter. They score
// every memory that the request admits, never abstain, and show near-duplicates. A date in the query is words like
// others.

// The weights of Weighted.
const (
	weightSimilarity   = 0.6
	weightDecay        = 0.2
	weightSalience     = 0.2
	weightedTimeDays   = 30  // days in which its decay falls to 1/e
	weightedNeverDays  = 365 // since the last access of a memory that was never accessed
	weightedCandidates = 2   // times as many memories as hits are asked for are scored, the most similar ones
)

// The weights of Overlap, and the least length of a run of letters and digits that it counts.
const (
	overlapMeta = 2 // a token of the query in title or description
	overlapBody = 1 // a token of the query in the content
	overlapRun  = 3
)

// bySource reports whether the profile is a formula of the sources.
func (r *Request) bySource() bool {
	return r.Profile == Product || r.Profile == Weighted || r.Profile == Overlap
}

// sourceCollector scores the memories of one source by such a formula. It lives while the index is locked.
type sourceCollector struct {
	*ranking
	index  *invertedIndex
	source source
	held   []uint16 // by document: how many tokens of the query it holds
	tokens int      // of the query
}

// collectBySource adds the best memories of a source to the pool. It returns how many the formula gives something.
func (r *ranking) collectBySource(x *invertedIndex, src source, s *scratch) (matched int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c := &sourceCollector{ranking: r, index: x, source: src}
	score := c.scoreBySimilarity
	if r.req.Profile == Overlap {
		score = newOverlap(r.req.Query).score
	} else {
		c.countTokens(s)
	}
	for doc, m := range x.docs {
		if m == nil {
			continue
		}
		cand := candidate{source: src, memory: m, doc: uint32(doc), features: x.features[doc]}
		if !score(&cand) {
			continue
		}
		matched++
		r.relevant++
		if r.pool.rejects(&cand) || !r.admitsFeatures(&cand.features) && !r.req.admits(m) {
			continue
		}
		r.scored++
		r.pool.push(&cand)
	}
	return matched
}

// countTokens counts the tokens of the query that each document holds: words and single characters, without the
// compounds and pairs that are made of them.
func (c *sourceCollector) countTokens(s *scratch) {
	s.held = append(s.held[:0], make([]uint16, len(c.index.docs))...)
	c.held = s.held
	for i := range c.q.terms {
		t := &c.q.terms[i]
		if t.kind == analysis.Compound || t.kind == analysis.Bigram {
			continue
		}
		c.tokens++
		if id, ok := c.index.terms.find(t.term); ok {
			for _, p := range c.index.postings.of(id) {
				c.held[p.doc()]++
			}
		}
	}
}

// scoreBySimilarity scores a candidate by Product, and by its similarity alone for Weighted, which selects its
// candidates so. It reports whether there is any similarity.
func (c *sourceCollector) scoreBySimilarity(cand *candidate) bool {
	cosine, ok := c.meanCosine(cand.doc)
	switch {
	case ok:
		c.vectorsUsed = true
		cand.relevance, cand.hasCosine = max(0, cosine), true
	case c.req.Arm != Vector:
		cand.relevance = float64(c.held[cand.doc]) / float64(max(1, c.tokens))
	}
	cand.score = cand.relevance
	if c.req.Profile == Product {
		cand.score = c.product(cand, noExplanation)
	}
	return cand.relevance > 0
}

// meanCosine is the mean over the models by which both the query and the document have a vector; false without one.
func (c *sourceCollector) meanCosine(doc uint32) (float64, bool) {
	n, sum := 0, 0.0
	for i, q := range c.queries {
		if q.Vector.Dim() == 0 || c.source.isCollection() {
			continue
		}
		if cosine, ok := c.index.vectors[i].cosine(doc, q.Vector); ok {
			n, sum = n+1, sum+cosine
		}
	}
	return sum / float64(max(1, n)), n > 0
}

// rankBySource sorts the candidates of all sources by the score of the profile.
func (r *ranking) rankBySource() {
	sortCandidates(r.pool.items)
	if r.req.Profile == Weighted {
		r.pool.items = r.pool.items[:min(len(r.pool.items), weightedCandidates*r.req.K)]
	}
	query := newOverlap(r.req.Query)
	for i := range r.pool.items {
		c := &r.pool.items[i]
		explain := r.explainer(c)
		switch r.req.Profile {
		case Product:
			c.score = r.product(c, explain)
		case Weighted:
			c.score = r.weighted(c, explain)
		case Overlap:
			query.explain(c.memory, explain)
		}
	}
	sortCandidates(r.pool.items)
}

// product is similarity · salience · exp(−λ · days since the last access).
func (r *ranking) product(c *candidate, explain func(string, float64)) float64 {
	decay := r.decayOf(&c.features)
	r.explainSimilarity(c, explain)
	explain("salience", c.features.salience)
	explain("decay", decay)
	return c.relevance * c.features.salience * decay
}

// weighted is .6 · similarity + .2 · exp(−days since the last access / 30) + .2 · salience.
func (r *ranking) weighted(c *candidate, explain func(string, float64)) float64 {
	days, accessed := c.features.idleDays(r.req)
	if !accessed {
		days = weightedNeverDays
	}
	decay := r.decayFactor(1.0/weightedTimeDays, days)
	r.explainSimilarity(c, explain)
	explain("decay", decay)
	explain("salience", c.features.salience)
	return weightSimilarity*c.relevance + weightDecay*decay + weightSalience*c.features.salience
}

// explainSimilarity says by which measure a candidate is similar.
func (r *ranking) explainSimilarity(c *candidate, explain func(string, float64)) {
	if c.hasCosine {
		explain("cosine", c.relevance)
	} else {
		explain("share of words", c.relevance)
	}
	explain("similarity", c.relevance)
}

// noExplanation records nothing.
func noExplanation(string, float64) {}

// overlap counts the tokens that a query and a memory have in common, as sets.
type overlap struct {
	tokens map[string]int // of the query → position in seen
	seen   []int          // number of the text in which a token was counted last
	text   int
}

func newOverlap(query string) *overlap {
	o := &overlap{tokens: map[string]int{}}
	for token := range overlapTokens(query) {
		if _, ok := o.tokens[token]; !ok {
			o.tokens[token] = len(o.tokens)
		}
	}
	o.seen = make([]int, len(o.tokens))
	return o
}

// score scores a candidate. Among equals the one changed last comes first.
func (o *overlap) score(c *candidate) bool {
	meta, body := o.counts(c.memory)
	c.score, c.tie = float64(overlapMeta*meta+overlapBody*body), float64(unixNano(changedAt(c.memory)))
	return c.score > 0
}

func (o *overlap) explain(m *memory.Memory, explain func(string, float64)) {
	meta, body := o.counts(m)
	explain("title", float64(overlapMeta*meta))
	explain("content", float64(overlapBody*body))
}

// counts are the tokens of the query in title and description, and those in the content.
func (o *overlap) counts(m *memory.Memory) (meta, body int) {
	return o.count(m.Title, m.Description()), o.count(m.Content)
}

// count is how many different tokens of the query some texts hold together.
func (o *overlap) count(texts ...string) (n int) {
	if len(o.tokens) == 0 {
		return 0
	}
	o.text++
	for _, text := range texts {
		for token := range overlapTokens(text) {
			if i, ok := o.tokens[token]; ok && o.seen[i] != o.text {
				o.seen[i] = o.text
				n++
			}
		}
	}
	return n
}

// overlapTokens yields the tokens of a text in lower case: runs of at least three ASCII letters and digits, and single
// Han characters of the basic block and of extension A. Everything else separates, underscores too.
func overlapTokens(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		text = strings.ToLower(text)
		start := -1 // of the run, or no run
		for i, r := range text + " " {
			run := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
			if run && start < 0 {
				start = i
			}
			if run {
				continue
			}
			if start >= 0 && i-start >= overlapRun && !yield(text[start:i]) {
				return
			}
			start = -1
			han := r >= '\u4e00' && r <= '\u9fff' || r >= '\u3400' && r <= '\u4dbf'
			if han && !yield(text[i:i+len(string(r))]) {
				return
			}
		}
	}
}

// changedAt is when a memory got its present content: the later of creation and change.
func changedAt(m *memory.Memory) (at time.Time) {
	if m.UpdatedAt.After(m.CreatedAt) {
		return m.UpdatedAt
	}
	return m.CreatedAt
}
