package search

import "math"

// Strength grades the evidence for a hit by its calibrated probability of being relevant.
type Strength string

// The strengths. Of strong hits of the paraphrase sets four in five are relevant, of fair ones two in five, of weak ones
// one in fifteen.
const (
	Strong Strength = "strong"
	Fair   Strength = "fair"
	Weak   Strength = "weak"
)

// A logistic regression of the evidence on the hits of the paraphrase sets; see docs/ranking.md for its reliability. With
// a MiniLM vector the sum has one more part.
const (
	relevanceSlope     = 6.22
	relevanceMiniLM    = -2.47
	relevanceIntercept = -4.78
	strongFrom         = 0.7
	fairFrom           = 0.2
)

// relevanceProbability is the probability that a hit of that evidence is relevant.
func relevanceProbability(evidence float64, minilm bool) float64 {
	logit := relevanceIntercept + relevanceSlope*evidence
	if minilm {
		logit += relevanceMiniLM
	}
	return 1 / (1 + math.Exp(-logit))
}

func strengthOf(evidence float64, minilm bool) Strength {
	switch p := relevanceProbability(evidence, minilm); {
	case p >= strongFrom:
		return Strong
	case p >= fairFrom:
		return Fair
	}
	return Weak
}
