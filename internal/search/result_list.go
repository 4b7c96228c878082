package search

import "slices"

// Which candidates become the list of results. Nothing here depends on how many hits are asked for.
const (
	evidenceHalf = 2.0  // evidence that is a relevance of a half
	minEvidence  = 0.15 // below it nothing is near by any measure
	tailEvidence = 0.3  // share of the best evidence below which the rest is cut
	// When the best is decisive, the rest must be clear by itself or nearly as good as the best: below a memory that
	// answers, others that are merely of the same kind are noise. Below a weak one they may be the answer.
	decisiveEvidence = 1.1
	clearEvidence    = 1.0
	tailDecisive     = 0.65
	// The same with one model, by which there is less evidence.
	decisiveOneModel = 0.8
	clearOneModel    = 0.5
	minOneModel      = 0.1

	tailImplicit = 0.65 // the same for an implicit request: a memory that nobody asked for must be about as good as the best
)

// rankByEvidence scores the candidates of all sources, and drops what is not near to the query.
func (r *ranking) rankByEvidence() {
	if r.req.Implicit && !r.passesGate() {
		r.pool.items = r.pool.items[:0]
	}
	least := r.leastEvidence()
	near := func(c candidate) bool { return c.evidence >= c.leastEvidence() }
	// What a broad question is about cannot be missing. The arm Vector is for measuring, and returns everything.
	if r.req.Arm != Vector && (!r.q.broad || r.req.Implicit) && !slices.ContainsFunc(r.pool.items, near) {
		r.pool.items = r.pool.items[:0]
	}
	r.pool.items = slices.DeleteFunc(r.pool.items, func(c candidate) bool { return c.evidence < least })
	gradeHits(r.pool.items)
	for i := range r.pool.items {
		c := &r.pool.items[i]
		explain := r.explainer(c)
		explain("relevance", relevanceOf(c.evidence))
		explain("probability", c.probability)
		c.score = relevanceOf(c.evidence * r.boost(c, explain))
	}
	sortCandidates(r.pool.items)
}

// relevanceOf puts evidence on a scale of 0 to 1 without a bound at which good hits become equal.
func relevanceOf(evidence float64) float64 {
	return max(evidence, 0) / (max(evidence, 0) + evidenceHalf)
}

// leastEvidence is the evidence below which candidates are dropped.
func (r *ranking) leastEvidence() float64 {
	if r.req.Arm == Vector {
		return lessThanAny // for measuring
	}
	best := lessThanAny
	for i := range r.pool.items {
		best = max(best, r.pool.items[i].evidence)
	}
	least, decisive, clear := minEvidence, decisiveEvidence, clearEvidence
	if !r.minilmVector() {
		least, decisive, clear = minOneModel, decisiveOneModel, clearOneModel
	}
	if r.q.broad && !r.req.Implicit {
		least = 0
	}
	least = max(least, best*tailEvidence)
	switch {
	case r.req.Implicit:
		least = max(least, best*tailImplicit)
	case best >= decisive:
		least = max(least, min(best*tailDecisive, clear))
	}
	return least
}

// explainer records the parts of a candidate's score when the request asks for them.
func (r *ranking) explainer(c *candidate) func(name string, v float64) {
	return func(name string, v float64) {
		if r.req.Explain {
			c.parts = append(c.parts, Part{name, v})
		}
	}
}
