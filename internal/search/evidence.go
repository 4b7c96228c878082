package search

import (
	"math"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
)

// The evidence that a memory bears on a query is one sum of absolute parts. No part depends on the size of the store, on
// its other memories' scores or on other spaces: a store of three memories behaves as one of ten thousand.
//
//	first = 2 · words + cosines + .4 · named + .3 · date
//	final = 2 · words + cosines / 2 + tokens + .4 · named + .3 · date        of the best by first
//
// words is BM25 as a share of its upper bound for the query. cosines and tokens are sums over the models. tokens is late
// interaction (Khattab and Zaharia 2020, "ColBERT"). The weights are flat: half or double loses less than a point.
const (
	wordWeight    = 2.0
	namedWeight   = 0.4 // the query names the speaker or subject of the memory
	dateWeight    = 0.3 // the memory is of the time that the query names
	sessionSpread = 0.3 // share of the words of the neighbours in a session
	pooledShare   = 0.5 // weight of cosines beside tokens

	// Of a turn in a dialogue: people answer in other words than they were asked in.
	questionShare = 0.2 // share of the evidence of the question before it
	lengthWeight  = 0.1 // of the logarithm of its length over typicalLength
	typicalLength = 80  // characters
	sessionShare  = 0.3 // share of the mean of the session's best three turns

	identifierEvidence = 4.0 // of a memory that holds an identifier of the query: more than all else together
	evidenceScale      = 4.0 // evidence that is a relevance of 1
	minEvidence        = 0.2 // below it nothing is near by any measure
	tailEvidence       = 0.3 // share of the best evidence below which the rest is cut
	tailImplicit       = 0.7 // the same for an implicit request: a memory that nobody asked for must be about as good as the best
	evidencePool       = 64  // candidates of a source by first
	tokenPool          = 30  // candidates of a source that are compared by tokens
)

// useEvidence reports whether the request is ranked by evidence: it has a query vector whose cosines are calibrated.
func (r *ranking) useEvidence() bool {
	if r.embedQueries == nil || r.req.Arm != Vector && !slices.ContainsFunc(r.models, embedding.Model.Calibrated) {
		return false // a server's model is not asked before words found something
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

// docEvidence is the evidence of one document, by part.
type docEvidence struct {
	doc         uint32
	words       float64            // with the neighbours' share
	own         float64            // words of its own
	cosine      float64            // sum over the models
	cosines     [maxModels]float64 // by model
	tokens      [maxModels]float64 // late interaction, by model
	named       float64
	date        float64
	context     float64 // of a turn: question before it, length, session
	identifiers int     // of the query that it holds
	first       float64
	sum         float64
}

// evidenceCollector sums up the evidence of the documents of one source.
type evidenceCollector struct {
	*ranking
	index       *invertedIndex
	source      source
	total       float64                       // weight of the query
	cosines     []float32                     // by document, sum over the models
	pool        []docEvidence                 // the best by first, then by sum
	byDoc       map[uint32]int                // document → position in pool
	tokens      map[uint32][maxModels]float64 // by document and model; nil without token vectors
	leastTokens float64                       // least sum of those compared
}

// collectByEvidence adds the candidates of a source by their evidence. It returns how many documents share a term with
// the query.
func (r *ranking) collectByEvidence(x *invertedIndex, src source, s *scratch) (matched int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c := &evidenceCollector{ranking: r, index: x, source: src, total: float64(x.weighTerms(r.q.terms)), byDoc: map[uint32]int{}}
	if r.req.Arm == Vector {
		c.total = 0
	}
	s.terms = matchedTerms(s.terms, r.q.terms, 0)
	x.accumulate(s, s.terms, true)
	c.sumCosines()
	c.selectFirst()
	if r.req.Profile == Balanced {
		c.addIdentifiers()
		c.sumTokens()
		c.sumEvidence()
	}
	for i := range c.pool {
		c.gate.observe(&c.pool[i])
		c.addCandidate(&c.pool[i])
	}
	return len(s.touched)
}

// sumCosines sets the cosines of all documents.
func (c *evidenceCollector) sumCosines() {
	c.scratch.cosines = slices.Grow(c.scratch.cosines[:0], len(c.index.docs))[:len(c.index.docs)]
	clear(c.scratch.cosines)
	c.cosines = c.scratch.cosines
	if c.source.isCollection() {
		return
	}
	for i, q := range c.queries {
		if q.Vector.Dim() == 0 {
			continue
		}
		c.index.vectors[i].rows.Cosines(q.Vector, func(doc int, cosine float64) { c.cosines[doc] += float32(cosine) })
		c.vectorsUsed = c.vectorsUsed || c.index.vectors[i].rows.Dim() == q.Vector.Dim()
	}
}

// ownWords is BM25 of a document as a share of its upper bound, 0 to 1.
func (c *evidenceCollector) ownWords(doc uint32) float64 {
	if c.total == 0 {
		return 0
	}
	return float64(c.scratch.sums[doc].score) / c.total
}

// neighborWords is the sum of the words of the documents before and after it in its session.
func (c *evidenceCollector) neighborWords(doc uint32) (sum float64) {
	links := c.index.links[doc]
	if links.previous != noDoc {
		sum += c.ownWords(links.previous)
	}
	if links.next != noDoc {
		sum += c.ownWords(links.next)
	}
	return sum
}

// selectFirst fills the pool with the best documents by first.
func (c *evidenceCollector) selectFirst() {
	threshold, limit := math.Inf(-1), max(evidencePool, c.ranking.pool.limit)
	for doc := range c.index.docs {
		d := uint32(doc)
		own := c.ownWords(d)
		w := docEvidence{doc: d, own: own, words: own + sessionSpread*c.neighborWords(d), cosine: float64(c.cosines[doc])}
		if c.matchesDateOf(d) {
			w.date = 1
		}
		w.first = c.firstSum(&w)
		if w.first <= threshold || w.first == 0 || !c.admitsDoc(d) {
			continue
		}
		c.pool = append(c.pool, w)
		if len(c.pool) == 4*limit { // amortised selection: sort once for three quarters of the pool
			threshold = c.keepFirst(limit)
		}
	}
	c.keepFirst(limit)
	if c.req.Profile == Balanced {
		c.addNames()
		c.keepFirst(limit)
	}
	for i := range c.pool {
		c.byDoc[c.pool[i].doc] = i
	}
}

// firstSum is the evidence by which candidates are selected. Product and Weighted select by their score.
func (c *evidenceCollector) firstSum(w *docEvidence) float64 {
	if c.req.Profile != Balanced {
		if c.index.docs[w.doc] == nil {
			return 0
		}
		return c.sourceScore(c.similarity(w.doc), &c.index.features[w.doc], func(string, float64) {})
	}
	return wordWeight*w.words + w.cosine + dateWeight*w.date
}

// similarity of a document by Product and Weighted: the mean cosine over the models, clipped at 0, or, when it has no
// vector, the share of the query's terms that it holds.
func (c *evidenceCollector) similarity(doc uint32) float64 {
	n := 0
	for i, q := range c.queries {
		if q.Vector.Dim() > 0 && !c.source.isCollection() && c.index.vectors[i].rows.Has(int(doc)) {
			n++
		}
	}
	if n == 0 {
		return termShare(&c.scratch.sums[doc], c.q.terms)
	}
	return max(0, float64(c.cosines[doc])/float64(n))
}

// keepFirst keeps the n best by first and returns the least of them.
func (c *evidenceCollector) keepFirst(n int) float64 {
	slices.SortFunc(c.pool, func(a, b docEvidence) int { return c.compareEvidence(a.first, b.first, a.doc, b.doc) })
	c.pool = c.pool[:min(n, len(c.pool))]
	if len(c.pool) < n {
		return math.Inf(-1)
	}
	return c.pool[n-1].first
}

// compareEvidence orders by evidence, then newest first.
func (c *evidenceCollector) compareEvidence(a, b float64, docA, docB uint32) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return compareNewest(&c.index.features[docA], &c.index.features[docB], c.index.docs[docA], c.index.docs[docB])
}

// admitsDoc reports whether the request admits a document.
func (c *evidenceCollector) admitsDoc(doc uint32) bool {
	m := c.index.docs[doc]
	return m != nil && (c.admitsFeatures(&c.index.features[doc]) || c.req.admits(m))
}

// matchesDateOf reports whether a document is of a time that the query names.
func (c *evidenceCollector) matchesDateOf(doc uint32) bool {
	return len(c.q.dates) > 0 && c.index.docs[doc] != nil && c.matchesDate(c.index.docs[doc])
}

// addNames adds the evidence of names when the query names exactly one of the speakers and subjects in the pool.
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
	head := m.Content[:min(len(m.Content), 40)]
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

// addIdentifiers adds to the pool every memory that holds an identifier of the query, and marks those that hold it as the
// leading part of a longer one.
func (c *evidenceCollector) addIdentifiers() {
	for _, identifier := range c.q.identifiers {
		if doc, ok := c.index.docIDs[identifier.Text]; ok {
			c.addIdentifier(doc)
		}
		if id, ok := c.index.termIDs[identifier.Term]; ok && len(c.index.postings[id]) <= maxIdentifierDocs {
			for _, p := range c.index.postings[id] {
				c.addIdentifier(p.doc())
			}
		}
		folded := analysis.FoldPhrase(identifier.Text)
		for i := range c.pool {
			if w := &c.pool[i]; w.identifiers == 0 && c.ownWords(w.doc) > 0 &&
				analysis.ContainsPhrase(c.index.docs[w.doc].Content, folded) {
				w.identifiers++
			}
		}
	}
}

// addIdentifier counts an identifier of a document, which joins the pool when the request admits it.
func (c *evidenceCollector) addIdentifier(doc uint32) {
	i, ok := c.byDoc[doc]
	if !ok {
		if !c.admitsDoc(doc) {
			return
		}
		i = len(c.pool)
		c.byDoc[doc] = i
		own := c.ownWords(doc)
		c.pool = append(c.pool, docEvidence{
			doc: doc, own: own, words: own + sessionSpread*c.neighborWords(doc), cosine: float64(c.cosines[doc]),
		})
	}
	c.pool[i].identifiers++
}

// sumTokens compares the best candidates with the query token by token. Of dialogues it also compares the questions
// before them.
func (c *evidenceCollector) sumTokens() {
	hasTokens := func(v *docVectors) bool { return v.tokens != nil && v.tokens.Len() > 0 }
	if c.source.isCollection() || !slices.ContainsFunc(c.index.vectors, hasTokens) {
		return
	}
	c.tokens = map[uint32][maxModels]float64{}
	least := math.Inf(1)
	compare := func(doc uint32) {
		if _, done := c.tokens[doc]; !done {
			c.tokens[doc] = c.maxSim(doc)
			least = min(least, sumOf(c.tokens[doc]))
		}
	}
	limit := tokenPool
	if len(c.pool) > 0 && isTurn(c.index.docs[c.pool[0].doc]) {
		limit *= 2
	}
	for i := range c.pool[:min(limit, len(c.pool))] {
		doc := c.pool[i].doc
		compare(doc)
		if previous := c.index.links[doc].previous; previous != noDoc && isTurn(c.index.docs[doc]) {
			compare(previous)
		}
	}
	c.leastTokens = least
}

// maxSim is the token evidence of a document by model.
func (c *evidenceCollector) maxSim(doc uint32) (tokens [maxModels]float64) {
	for i, q := range c.queries {
		v := c.index.vectors[i]
		if q.Tokens.Len() == 0 || v.tokens == nil || int(doc) >= len(v.keys) {
			continue
		}
		if set, ok := v.tokens.Get(v.keys[doc], c.scratch.tokenBuf); ok {
			tokens[i] = q.Tokens.MaxSim(set)
		}
	}
	return tokens
}

// maxModels is how many models an engine may have.
const maxModels = 4

func sumOf(byModel [maxModels]float64) (sum float64) {
	for _, v := range byModel {
		sum += v
	}
	return sum
}

// meaning is the evidence of cosines and tokens of a document. One that was not compared has the least tokens of those
// that were.
func (c *evidenceCollector) meaning(doc uint32) float64 {
	if c.tokens == nil {
		return float64(c.cosines[doc])
	}
	tokens := c.leastTokens
	if compared, ok := c.tokens[doc]; ok {
		tokens = sumOf(compared)
	}
	return pooledShare*float64(c.cosines[doc]) + tokens
}

// sumEvidence sets the sum of each candidate.
func (c *evidenceCollector) sumEvidence() {
	for i := range c.pool {
		w := &c.pool[i]
		w.cosines, w.tokens = c.cosinesOf(w.doc), c.tokens[w.doc]
		w.sum = wordWeight*w.words + c.meaning(w.doc) + namedWeight*w.named + dateWeight*w.date
	}
	c.addDialogue()
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

// addDialogue adds to the turns of dialogues what their surroundings say: the question before, their length and the best
// turns of their session.
func (c *evidenceCollector) addDialogue() {
	sessions := map[sessionKey]float64{}
	for i := range c.pool {
		w := &c.pool[i]
		m := c.index.docs[w.doc]
		if !isTurn(m) {
			continue
		}
		if previous := c.index.links[w.doc].previous; previous != noDoc && isQuestion(c.index.docs[previous]) {
			w.context += questionShare * c.plainEvidence(previous, false)
		}
		w.context += lengthEvidence(m)
		key := sessionKeyOf(m)
		mean, ok := sessions[key]
		if !ok {
			mean = c.sessionEvidence(key)
			sessions[key] = mean
		}
		w.context += sessionShare * mean
		w.sum += w.context
	}
}

// isTurn reports whether a memory is a turn of a dialogue: said by a speaker in a session.
func isTurn(m *memory.Memory) bool {
	if sessionKeyOf(m).session == "" {
		return false
	}
	_, _, ok := analysis.CutSpeaker(m.Content[:min(len(m.Content), 40)])
	return ok
}

func isQuestion(m *memory.Memory) bool { return strings.ContainsAny(m.Content, "?？") }

// lengthEvidence prefers turns that say more.
func lengthEvidence(m *memory.Memory) float64 {
	n := min(max(len([]rune(m.Content)), 20), 400)
	return lengthWeight * math.Log(float64(n)/typicalLength)
}

// plainEvidence is the sum of the words and cosines of a document, whether or not it is in the pool.
func (c *evidenceCollector) plainEvidence(doc uint32, spread bool) float64 {
	words := c.ownWords(doc)
	if spread {
		words += sessionSpread * c.neighborWords(doc)
	}
	return wordWeight*words + c.meaning(doc)
}

// sessionEvidence is the mean of the three best turns of a session.
func (c *evidenceCollector) sessionEvidence(key sessionKey) float64 {
	var best [3]float64
	n := 0
	for _, doc := range c.index.sessions[key] {
		e := c.plainEvidence(doc, true) + lengthEvidence(c.index.docs[doc])
		if n < len(best) {
			best[n] = e
			n++
		} else if e > best[2] {
			best[2] = e
		}
		slices.SortFunc(best[:n], func(a, b float64) int {
			switch {
			case a > b:
				return -1
			case a < b:
				return 1
			}
			return 0
		})
	}
	sum := 0.0
	for _, e := range best[:n] {
		sum += e
	}
	return sum / float64(max(1, n))
}

// addCandidate turns the evidence of a document into a candidate.
func (c *evidenceCollector) addCandidate(w *docEvidence) {
	m := c.index.docs[w.doc]
	sum := w.sum
	if w.identifiers > 0 {
		sum += identifierEvidence * float64(w.identifiers) / float64(len(c.q.identifiers))
	}
	cand := candidate{
		source: c.source, memory: m, doc: w.doc, features: c.index.features[w.doc], relevance: c.candidateRelevance(w), evidence: sum,
		identifiers: w.identifiers, cosine: w.cosine,
	}
	if c.req.Explain {
		cand.parts = append(c.index.explainTerms(c.q.terms, w.doc), c.explainEvidence(w)...)
	}
	c.relevant++
	c.scored++
	c.ranking.pool.items = append(c.ranking.pool.items, cand)
}

// candidateRelevance is the words of Balanced, and the similarity of Product and Weighted.
func (c *evidenceCollector) candidateRelevance(w *docEvidence) float64 {
	if c.req.Profile == Balanced {
		return w.words
	}
	return c.similarity(w.doc)
}

// explainEvidence lists the parts of the evidence.
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
	add("named", namedWeight*w.named)
	add("date", dateWeight*w.date)
	add("dialogue", w.context)
	return parts
}

// rankByEvidence scores the candidates of all sources, and drops what is not near to the query.
func (r *ranking) rankByEvidence() {
	if r.req.Profile != Balanced {
		r.rankBySource()
		return
	}
	if r.req.Implicit && !r.passesGate() {
		r.pool.items = r.pool.items[:0]
	}
	best := math.Inf(-1)
	for i := range r.pool.items {
		best = max(best, r.pool.items[i].evidence)
	}
	least := max(minEvidence, best*tailEvidence)
	if r.req.Implicit {
		least = max(minEvidence, best*tailImplicit)
	}
	if r.req.Arm == Vector {
		least = math.Inf(-1)
	}
	english := r.minilmVector()
	for i := range r.pool.items {
		c := &r.pool.items[i]
		c.strength = strengthOf(c.evidence, english)
	}
	r.pool.items = slices.DeleteFunc(r.pool.items, func(c candidate) bool { return c.evidence < least })
	for i := range r.pool.items {
		c := &r.pool.items[i]
		explain := func(name string, v float64) {
			if r.req.Explain {
				c.parts = append(c.parts, Part{name, v})
			}
		}
		relevance := min(max(c.evidence/evidenceScale, 0), 1)
		explain("relevance", relevance)
		c.score = relevance * r.boost(&c.features, explain)
	}
	sortCandidates(r.pool.items)
}

// rankBySource scores the candidates of all sources by Product or Weighted.
func (r *ranking) rankBySource() {
	for i := range r.pool.items {
		c := &r.pool.items[i]
		explain := func(name string, v float64) {
			if r.req.Explain {
				c.parts = append(c.parts, Part{name, v})
			}
		}
		explain("similarity", c.relevance)
		c.score = r.sourceScore(c.relevance, &c.features, explain)
	}
	r.pool.items = slices.DeleteFunc(r.pool.items, func(c candidate) bool { return c.relevance <= 0 })
	sortCandidates(r.pool.items)
}
