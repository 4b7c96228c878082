package search

import "slices"

// selectHits turns the best candidates into hits: as many as requested, none below the minimum score, and no
// near-duplicate of a better one.
func (r *ranking) selectHits(a *analyzer) []Hit {
	var hits []Hit
	s := r.scratch
	s.entries = slices.Grow(s.entries[:0], len(r.pool.items)) // the entries must not move: selected points at them
	selected := s.selected[:0]
	defer func() { s.selected = selected }()
	memories := r.dedupEntries()
	for i := range r.pool.items {
		c := &r.pool.items[i]
		if c.score < r.req.MinScore {
			continue
		}
		s.entries = s.entries[:len(s.entries)+1]
		entry := &s.entries[len(s.entries)-1]
		entry.setMemory(c.memory)
		duplicates := func(better *dedupEntry) bool { return a.isNearDuplicate(better, entry) }
		if !r.req.bySource() && slices.ContainsFunc(selected, duplicates) ||
			c.source.isCollection() && slices.ContainsFunc(memories, duplicates) {
			continue
		}
		selected = append(selected, entry)
		if hits == nil {
			hits = make([]Hit, 0, min(r.req.K, len(r.pool.items)-i))
		}
		hits = append(hits, Hit{
			Space: c.source.space, FromCollection: c.source.isCollection(), Memory: c.memory, Score: c.score,
			Strength: c.strength, Parts: c.parts,
			Terms: r.matchedQueryTerms(c),
		})
		if r.stopAfter(hits) {
			break
		}
	}
	return hits
}

// stopAfter reports whether no further hit is requested.
func (r *ranking) stopAfter(hits []Hit) bool {
	if r.req.StopAfter == nil {
		return len(hits) == r.req.K
	}
	return r.req.StopAfter(&hits[len(hits)-1])
}

// matchedQueryTerms lists the terms of the query that a candidate holds, when the request wants them.
func (r *ranking) matchedQueryTerms(c *candidate) (terms []string) {
	if r.req.WantTerms == nil || !r.req.WantTerms(c.memory) {
		return nil
	}
	x := r.indexOf(c.source)
	x.mu.RLock()
	defer x.mu.RUnlock()
	doc, ok := x.docOf(c)
	if !ok {
		return nil
	}
	for i := range r.q.terms {
		if id, known := x.terms.find(r.q.terms[i].term); known {
			if _, holds := x.postings.of(id).find(doc); holds {
				terms = append(terms, r.q.terms[i].term)
			}
		}
	}
	return terms
}

// dedupEntries lists the memories in the pool, because a text of a collection that only repeats one is not shown.
func (r *ranking) dedupEntries() (entries []*dedupEntry) {
	if len(r.req.Collections) == 0 {
		return nil
	}
	for i := range r.pool.items {
		if c := &r.pool.items[i]; c.score >= r.req.MinScore && !c.source.isCollection() {
			entry := new(dedupEntry)
			entry.setMemory(c.memory)
			entries = append(entries, entry)
		}
	}
	return entries
}

// reason is why there are no hits.
func (r *ranking) reason(matched int) string {
	switch {
	case matched == 0 && r.relevant == 0:
		return ReasonNoMatch
	case r.relevant == 0:
		return ReasonWeak
	case r.scored == 0:
		return ReasonFiltered
	case len(r.pool.items) == 0:
		return ReasonWeak
	}
	return ReasonMinScore
}
