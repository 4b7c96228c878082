package search

import (
	"math"
	"slices"
)

// The second stage compares the best candidates with the query token by token: what one word says and the whole text
// does not.
const (
	tokenPool     = 40  // candidates of a source that are compared; twice as many in dialogues, whose turns are short
	previousShare = 0.9 // of the match of a token in the turn before: "Yes, last week" is about what was said there
)

// tokenMatches are the best cosines of each token of the query in one document, by model; empty where it has no tokens.
type tokenMatches [maxModels][]float64

// sumTokens compares the best candidates with the query token by token. A turn of a dialogue is compared together with
// the turn before it.
func (c *evidenceCollector) sumTokens() {
	hasTokens := func(v *docVectors) bool { return v.model.Calibrated() && v.hasTokens() }
	if c.source.isCollection() || !slices.ContainsFunc(c.index.vectors, hasTokens) {
		return
	}
	c.matches, c.tokens = map[uint32]tokenMatches{}, map[uint32][maxModels]float64{}
	c.familiarity = map[uint32]float64{}
	c.leastTokens = math.Inf(1)
	limit := tokenPool
	if len(c.pool) > 0 && c.isTurn(c.pool[0].doc) {
		limit *= 2
	}
	for i := range c.pool[:min(limit, len(c.pool))] {
		doc := c.pool[i].doc
		c.compareTokens(doc)
		if previous := c.previousTurn(doc); previous != noDoc {
			c.compareTokens(previous)
		}
	}
	c.averageMeaning()
}

// averageMeaning sets the mean of the meaning of the candidates that were compared, in the order of the pool.
func (c *evidenceCollector) averageMeaning() {
	n := 0
	for i := range c.pool {
		if _, compared := c.tokens[c.pool[i].doc]; compared {
			c.meanMeaning += c.meaning(c.pool[i].doc)
			n++
		}
	}
	c.meanMeaning /= float64(max(1, n))
}

// compareTokens sets the token evidence of a document.
func (c *evidenceCollector) compareTokens(doc uint32) {
	if _, done := c.tokens[doc]; done || c.awaitsVectors(doc) {
		return
	}
	own, tokens := c.matchesOf(doc), [maxModels]float64{}
	previous := tokenMatches{}
	if p := c.previousTurn(doc); p != noDoc {
		previous = c.matchesOf(p)
	}
	for i, q := range c.queries {
		best := own[i]
		if len(best) > 0 && len(previous[i]) > 0 {
			best = make([]float64, len(best))
			for t := range best {
				best[t] = max(own[i][t], previousShare*previous[i][t])
			}
		}
		tokens[i] = q.Tokens.Mean(best)
	}
	c.tokens[doc], c.familiarity[doc] = tokens, c.familiarityOf(doc)
	c.leastTokens = min(c.leastTokens, c.languageWeight(doc)*sumOf(tokens))
}

// matchesOf compares the tokens of a document with those of the query, once.
func (c *evidenceCollector) matchesOf(doc uint32) tokenMatches {
	matches, done := c.matches[doc]
	if done {
		return matches
	}
	text := keyOf(c.index.docs[doc])
	for i, q := range c.queries {
		v := c.index.vectors[i]
		if q.Tokens.Len() == 0 {
			continue
		}
		if set, ok := v.tokensOf(text, c.scratch.tokenBuf); ok {
			matches[i] = q.Tokens.BestMatches(set)
		}
	}
	c.matches[doc] = matches
	return matches
}
