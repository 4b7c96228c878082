package search

// collectCandidates scores the documents of one source and keeps the best. It returns how many documents share an
// essential term with the query or match its date.
func (r *ranking) collectCandidates(x *invertedIndex, src source, s *scratch) (matched int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c := &collector{ranking: r, index: x, source: src, scratch: s}
	before := r.relevant
	matched = c.proposeByWords()
	if len(r.q.dates) > 0 && (!r.q.topic || r.relevant == before && c.isRareDate()) {
		matched += c.proposeByDate()
	}
	return matched
}

// maxDateDocs is how many memories of a date the date alone proposes when no memory shares the words of the query.
const maxDateDocs = 5

// isRareDate reports whether so few memories are of the time that the query names that the time picks them out.
func (c *collector) isRareDate() bool {
	n := 0
	for _, m := range c.index.docs {
		if m != nil && c.matchesDate(m) {
			n++
		}
	}
	return n > 0 && n <= maxDateDocs
}

// collector scores the documents of one source.
type collector struct {
	*ranking
	index   *invertedIndex
	source  source
	scratch *scratch
}

// proposal is a document with its relevance, 0 to 1.
type proposal struct {
	doc        uint32
	relevance  float64
	allTerms   bool
	dateOnly   bool
	sufficient bool
}

// proposeByWords proposes the documents that hold enough of the terms. It returns how many hold an essential term.
func (c *collector) proposeByWords() (matched int) {
	x, s := c.index, c.scratch
	total := x.weighTerms(c.q.terms)
	if total == 0 {
		s.reset(len(x.docs))
		return 0
	}
	minWeight := minCandidateWeight(x.liveDocs, total)
	s.terms = matchedTerms(s.terms, c.q.terms, minWeight)
	x.accumulate(s, s.terms)
	for _, doc := range s.touched {
		sum := &s.sums[doc]
		if sum.strong == 0 || sum.weight < minWeight {
			continue
		}
		sum.proposed = true
		c.propose(proposal{
			doc: doc, relevance: float64(sum.score / total), allTerms: sum.weight/total > allTermsShare,
		})
	}
	return len(s.touched)
}

// proposeByDate proposes every document of the time that a query names.
func (c *collector) proposeByDate() (matched int) {
	for doc, m := range c.index.docs {
		if m != nil && c.matchesDate(m) && !c.scratch.sums[doc].proposed {
			matched++
			c.propose(proposal{doc: uint32(doc), relevance: dateOnlyRelevance, sufficient: true, dateOnly: true})
		}
	}
	return matched
}

// propose scores a document and keeps it when it is among the best so far. Most documents are rejected by their
// features alone, without reading the memory.
func (c *collector) propose(p proposal) {
	c.relevant++
	if c.maxScore(p.relevance, 1) < c.pool.threshold() {
		return
	}
	f := &c.index.features[p.doc]
	if c.maxScore(p.relevance, f.salience) < c.pool.threshold() {
		return
	}
	cand := candidate{
		source: c.source, doc: p.doc, features: *f, relevance: p.relevance, allTerms: p.allTerms, dateOnly: p.dateOnly,
		sufficient: p.sufficient,
	}
	m := c.index.docs[p.doc]
	if len(c.q.dates) > 0 {
		cand.memory = m
	}
	if c.req.Profile == Recent { // the newest are kept; rankPool sets the score
		cand.score = float64(m.CreatedAt.UnixMilli())
	} else {
		cand.score = c.score(&cand, false)
	}
	if c.pool.rejects(&cand) || !c.admitsFeatures(f) && !c.req.admits(m) {
		return
	}
	c.scored++
	cand.memory = m
	if c.req.Explain {
		cand.parts = c.index.explainTerms(c.q.terms, p.doc)
	}
	c.pool.push(&cand)
}
