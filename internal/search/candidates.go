package search

import "github.com/memsidecar/memsidecar/internal/memory"

// collectCandidates scores the documents of one source and keeps the best. It returns how many documents share an
// essential term with the query or match its date.
func (r *ranking) collectCandidates(x *invertedIndex, src source, s *scratch) (matched int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c := &collector{ranking: r, index: x, source: src, scratch: s}
	overlap := r.req.Profile == Overlap
	before := r.relevant
	matched = c.proposeByWords(overlap)
	switch {
	case len(r.q.dates) > 0 && (!r.q.topic || r.relevant == before && c.isRareDate()):
		matched += c.proposeByDate()
	case overlap:
		c.proposeByCategory()
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
	overlap    float32 // score of the profile Overlap, without the category
	allTerms   bool
	dateOnly   bool
	sufficient bool
}

// proposeByWords proposes the documents that hold enough of the terms. It returns how many hold an essential term.
func (c *collector) proposeByWords(overlap bool) (matched int) {
	x, s := c.index, c.scratch
	total := x.weighTerms(c.q.terms)
	if total == 0 {
		s.reset(len(x.docs))
		return 0
	}
	minWeight := minCandidateWeight(x.liveDocs, total)
	s.terms = matchedTerms(s.terms, c.q.terms, minWeight)
	x.accumulate(s, s.terms, overlap) // the second pass of Overlap needs the sums of all documents
	for _, doc := range s.touched[:s.essential] {
		sum := &s.sums[doc]
		if sum.strong == 0 || sum.weight < minWeight {
			continue
		}
		sum.proposed = true
		relevance := float64(sum.score / total)
		if c.req.Profile == Product || c.req.Profile == Weighted {
			relevance = termShare(sum, c.q.terms)
		}
		c.propose(proposal{
			doc: doc, relevance: relevance, overlap: sum.overlap,
			allTerms: sum.weight/total > allTermsShare,
		})
	}
	return s.essential
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

// proposeByCategory proposes for Overlap the documents that only their category connects with the query.
func (c *collector) proposeByCategory() {
	for doc, m := range c.index.docs {
		if m != nil && c.categoryMatches(m) > 0 && !c.scratch.sums[doc].proposed {
			c.propose(proposal{doc: uint32(doc), overlap: c.scratch.sums[doc].overlap, sufficient: true})
		}
	}
}

// propose scores a document and keeps it when it is among the best so far. Most documents are rejected by their
// features alone, without reading the memory.
func (c *collector) propose(p proposal) {
	c.relevant++
	f := &c.index.features[p.doc]
	if c.maxScore(p.relevance) < c.pool.threshold() {
		return
	}
	cand := candidate{
		source: c.source, doc: p.doc, features: *f, relevance: p.relevance, allTerms: p.allTerms, dateOnly: p.dateOnly,
		sufficient: p.sufficient,
	}
	m := c.index.docs[p.doc]
	needsMemory := len(c.q.dates) > 0 || c.req.Profile == Overlap
	if needsMemory {
		cand.memory = m
	}
	switch c.req.Profile {
	case Overlap:
		cand.score = float64(p.overlap) + float64(metaWeight*c.categoryMatches(m))
	case Recent: // the newest are kept; rankPool sets the score
		cand.score = float64(m.CreatedAt.UnixMilli())
	default:
		cand.score = c.score(&cand, false)
	}
	if c.pool.rejects(cand.score, f.created) || !c.admitsFeatures(f) && !c.req.admits(m) {
		return
	}
	c.scored++
	cand.memory = m
	if c.req.Explain {
		if c.req.Profile == Overlap {
			cand.parts = c.explainOverlap(p.doc, m)
		} else {
			cand.parts = c.index.explainTerms(c.q.terms, p.doc)
		}
	}
	c.pool.push(&cand)
}

// overlapWeight is what a term of a document adds to the score of Overlap.
func overlapWeight(p posting) (weight float32) {
	if p.inMeta() {
		weight = metaWeight
	}
	if p.inContent() {
		weight += contentWeight
	}
	return weight
}

// explainOverlap lists the parts of a score of Overlap.
func (c *collector) explainOverlap(doc uint32, m *memory.Memory) (parts []Part) {
	if n := c.categoryMatches(m); n > 0 {
		parts = append(parts, Part{"category", float64(metaWeight * n)})
	}
	for i := range c.q.terms {
		t := &c.q.terms[i]
		at, ok := t.postings.find(doc)
		if !ok || !t.countsForOverlap() {
			continue
		}
		if t.postings[at].inMeta() {
			parts = append(parts, Part{"title:" + t.term, metaWeight})
		}
		if t.postings[at].inContent() {
			parts = append(parts, Part{"content:" + t.term, contentWeight})
		}
	}
	return parts
}
