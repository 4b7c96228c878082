package search

import (
	"slices"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
)

// Embedding a query takes most of the time of a search. Words are sure by themselves when the query has an identifier
// that one memory alone holds, or is no sentence but several words that stand so in a memory. That one memory holds all
// words of a query is not enough: another one may answer it, and meaning tells which. On the evaluation sets that rule
// cost 1 point of nDCG@10 with questions, and as much with the mere lists of their words.

// minSureTerms is the least number of different words of a phrase.
const minSureTerms = 2

// wordsAreSure reports whether the request is answered by the evidence of words alone.
func (r *ranking) wordsAreSure() bool {
	if r.req.Arm != Fusion || r.req.Implicit || len(r.q.dates) > 0 ||
		!slices.ContainsFunc(r.models, embedding.Model.Calibrated) {
		return false
	}
	return slices.ContainsFunc(r.req.Spaces, func(space string) bool {
		x := r.indexOf(source{space: spaceName(space)})
		if x == nil {
			return false
		}
		x.mu.RLock()
		defer x.mu.RUnlock()
		return x.holdsIdentifier(r) || r.q.literal && x.holdsPhrase(r)
	})
}

// holdsIdentifier reports whether an identifier of the query is in exactly one memory that the request admits.
func (x *invertedIndex) holdsIdentifier(r *ranking) bool {
	return slices.ContainsFunc(r.q.identifiers, func(identifier analysis.Identifier) bool {
		id, ok := x.terms.find(identifier.Term)
		return ok && len(x.postings.of(id)) == 1 && x.holders(id) == 1 && x.admits(r, x.postings.of(id)[0].doc())
	})
}

// holdsPhrase reports whether the query stands literally in a memory that the request admits.
func (x *invertedIndex) holdsPhrase(r *ranking) bool {
	var all []postingList
	for i := range r.q.terms {
		t := &r.q.terms[i]
		if !t.informative() || t.kind == analysis.Subword {
			continue
		}
		id, ok := x.terms.find(t.term)
		if !ok || len(x.postings.of(id)) == 0 {
			return false
		}
		all = append(all, x.postings.of(id))
	}
	if len(all) < minSureTerms {
		return false
	}
	slices.SortFunc(all, func(a, b postingList) int { return len(a) - len(b) })
	return slices.ContainsFunc(all[0], func(p posting) bool {
		for _, other := range all[1:] {
			if _, holds := other.find(p.doc()); !holds {
				return false
			}
		}
		return x.admits(r, p.doc()) && r.matchesPhrase(x.docs[p.doc()])
	})
}

// admits reports whether a request admits a document. Most are decided by their features, without the memory.
func (x *invertedIndex) admits(r *ranking, doc uint32) bool {
	m := x.docs[doc]
	return m != nil && (r.admitsFeatures(&x.features[doc]) || r.req.admits(m))
}
