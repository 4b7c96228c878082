package search

import (
	"cmp"
	"math"
	"slices"
)

// Strength grades the probability that a hit is relevant. Other than a score it is comparable between searches.
type Strength string

// The strengths, by probability.
const (
	Strong Strength = "strong" // .6 or more
	Fair   Strength = "fair"   // .2 to .6
	Weak   Strength = "weak"   // below .2
)

const (
	strongFrom = 0.6
	fairFrom   = 0.2
)

// The probability is a softmax over the evidence of the best candidates and of a null hypothesis, that nothing is
// relevant, put on the scale of probabilities by a logistic regression (Platt 1999):
//
//	share       = exp((evidence - null) / spread) / (1 + Σ exp((evidence - null) / spread)) of the best candidates
//	probability = 1 / (1 + exp(-intercept - slope · ln share))
//
// The sum lets many equally good candidates share what one alone would have: in a talk about one subject all turns are
// near. The null keeps the only memory of a store from being strong because nothing is better. It is higher for the
// evidence of two models, which has one more part.
//
// go run ./bench/retrieval --reliability prints how reliable it is, and fits slope and intercept anew.
const (
	nullE5        = 0.9
	nullMiniLM    = 1.2
	shareSpread   = 0.25
	shareOf       = 10 // candidates in the sum, whatever the limit of the request
	strengthSlope = 1.33
	strengthBias  = 1.81
)

// The least evidence of a best hit. Below it nothing is near by any witness, and the search is empty: of the answerable
// questions of each set at most 2 % have no hit above it.
const (
	leastE5     = 0.2
	leastMiniLM = 0.35
)

// leastEvidence is the evidence that one candidate must have for a search to be answered.
func (c *candidate) leastEvidence() float64 {
	if c.twoModels {
		return leastMiniLM
	}
	return leastE5
}

// excess is the evidence of a candidate beyond that of the null hypothesis, in units of the spread.
func (c *candidate) excess() float64 {
	if c.twoModels {
		return (c.evidence - nullMiniLM) / shareSpread
	}
	return (c.evidence - nullE5) / shareSpread
}

// gradeHits sets probability and strength of the candidates. What is not a candidate does not matter: with fewer than
// shareOf the sum is over all.
func gradeHits(candidates []candidate) {
	excess := make([]float64, len(candidates))
	for i := range candidates {
		excess[i] = candidates[i].excess()
	}
	best := slices.Clone(excess)
	slices.SortFunc(best, func(a, b float64) int { return cmp.Compare(b, a) })
	sum := 1.0 // of the null hypothesis
	for _, e := range best[:min(shareOf, len(best))] {
		sum += math.Exp(e)
	}
	for i := range candidates {
		p := 1 / (1 + math.Exp(-strengthBias-strengthSlope*(excess[i]-math.Log(sum))))
		candidates[i].probability, candidates[i].strength = p, strengthOf(p)
	}
}

// strengthOf grades a probability.
func strengthOf(probability float64) Strength {
	switch {
	case probability >= strongFrom:
		return Strong
	case probability >= fairFrom:
		return Fair
	}
	return Weak
}
