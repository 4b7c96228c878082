package search

import (
	"math"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// The profiles: the formulas of a score.
const (
	// Balanced is evidence × (0.9 + 0.1 · salience · exp(−λ · days since the last access)), on a scale of 0 to 1. Among
	// memories of equal relevance the order is that of salience · decay; an old fact is still found.
	Balanced = "balanced"
	// Product is similarity · salience · exp(−λ · days since the last access). Similarity is the mean cosine by the
	// models, at least 0; without vectors, the share of the query's words that the memory holds.
	Product = "product"
	// Weighted is 0.6 · similarity + 0.2 · exp(−days since the last access / 30) + 0.2 · salience, of the 2·K most
	// similar memories. Never accessed counts as 365 days.
	Weighted = "weighted"
	// Overlap counts the words of the query in title and description twice and those in the content once, without stems
	// and stop words; ties are broken by the newest. Its score is that count.
	Overlap = "overlap"
	// Recent puts the matches in order of creation, newest first. Its score is the relevance.
	Recent = "recent"
)

// The arms: what relevance is measured by.
const (
	// Keyword ranks by words alone.
	Keyword = "keyword"
	// Fusion ranks by words and, while there are vectors, by meaning; Product and Weighted then go by meaning. It waits
	// up to a quarter of a second for the query vector, and ranks by words when that is too short.
	Fusion = "fusion"
	// Vector ranks by meaning alone and does not abstain while there are vectors: for measuring. Not with Overlap and
	// Recent, which know words alone.
	Vector = "vector"
)

const (
	defaultK    = 5
	weightedK   = 10          // of the profile Weighted, whose source asks for so many
	presentSpan = time.Minute // an AsOf that is no older is now
	maxQuery    = 8000        // characters
)

// Request asks for memories.
type Request struct {
	Spaces  []string      // none is the default space; an unknown space is empty
	Query   string        // at most 8,000 characters
	K       int           // at most so many hits, 1 to 200; 0 is 5, of Weighted 10
	Profile string        // one of the profile constants; "" is Balanced
	Arm     string        // one of the arm constants; "" is Keyword
	Filter  memory.Filter // what may be found; what has expired never is
	// MinScore is the least score of a hit, in the profile's own scale.
	MinScore float64
	// AsOf is the time for which the request is answered; zero is now. Ages, decay, expiry and relative dates in the
	// query count from it, and days begin in its location. Memories created later are not found, unless AsOf is now:
	// then a clock merely was wrong, and their age is 0.
	AsOf time.Time
	// Implicit is a prompt that did not ask for memories: the search abstains unless one bears on it.
	Implicit bool
	Explain  bool // fill in Hit.Parts
	// StopAfter is called for each hit, best first, and reports whether it is the last one wanted, of at most 2·K+20.
	// It must be fast. nil returns K hits.
	StopAfter func(*Hit) bool
	// WantTerms reports whether Hit.Terms of a memory is wanted; nil wants none.
	WantTerms    func(m *memory.Memory) bool
	EmbedTimeout time.Duration // of the query vector; 0 leaves it to the embedder
	UseDecay     *bool         // false leaves the time since the last access out of the score; nil is true
	// Collections are searched together with the spaces, by words alone, and not with the arm Vector. A text that
	// repeats a memory is not shown.
	Collections []SpaceCollection

	historical bool // AsOf is in the past
}

// Response to a Request. The hits are best first.
type Response struct {
	Hits        []Hit
	Abstained   bool   // no hits: the evidence is too weak
	Reason      string // why there are no hits, one of the Reason constants
	Candidates  int    // memories that share an informative term with the query, before any filter
	VectorsUsed bool   // meaning took part
}

// Reasons why a response has no hits.
const (
	ReasonNoTerms  = "NO_TERMS"   // the query has no word to search for
	ReasonNoMatch  = "NO_MATCH"   // no memory shares an informative word with it
	ReasonWeak     = "WEAK"       // the shared words are too few or too common
	ReasonFiltered = "FILTERED"   // the filter excluded everything relevant
	ReasonMinScore = "MIN_SCORE"  // everything relevant scored below the filter's minimum
	ReasonVectors  = "NO_VECTORS" // the arm Vector has no memory vectors or no query vector
)

// Hit is one result. Memory is shared and must not be changed.
type Hit struct {
	Space          string
	Memory         *memory.Memory // or a text of a collection
	FromCollection bool           // found in a collection, not in the space itself
	Score          float64
	Strength       Strength // of the evidence; "" when the search went by words alone
	Parts          []Part   // of the score; only with Request.Explain
	Terms          []string // terms of the query that the memory holds, as indexed; only with Request.WantTerms
}

// Part is one component of a score. Names are stable; "term:" is followed by the term as indexed.
type Part struct {
	Name  string
	Value float64
}

// validate sets defaults. Error: *memory.InvalidError with every violation.
func (r *Request) validate(now func() time.Time) error {
	var c memory.Check
	c.Text("query", r.Query, maxQuery, false)
	switch {
	case r.K == 0 && r.Profile == Weighted:
		r.K = weightedK
	case r.K == 0:
		r.K = defaultK
	}
	if r.K < 1 || r.K > memory.MaxK {
		c.Add("limit", "OUT_OF_RANGE", "must be from 1 to %d", memory.MaxK)
	}
	if r.Profile == "" {
		r.Profile = Balanced
	}
	if !slices.Contains([]string{Balanced, Product, Weighted, Overlap, Recent}, r.Profile) {
		c.Add("profile", "UNKNOWN_VALUE", "must be balanced, product, weighted, overlap or recent")
	}
	if r.Arm == "" {
		r.Arm = Keyword
	}
	if !slices.Contains([]string{Keyword, Fusion, Vector}, r.Arm) || r.Arm == Vector && !r.usesVectors() {
		c.Add("arm", "UNKNOWN_VALUE", "must be keyword, fusion or, but for the profiles overlap and recent, vector")
	}
	if math.IsNaN(r.MinScore) {
		c.Add("min_score", "OUT_OF_RANGE", "must be a number")
	}
	r.Filter.Validate(&c, "filter.")
	present := now()
	if r.AsOf.IsZero() {
		r.AsOf = present
	}
	r.historical = present.Sub(r.AsOf) > presentSpan
	if len(r.Spaces) == 0 {
		r.Spaces = []string{memory.DefaultSpace}
	}
	return c.Err()
}

// admits reports whether the request may find m.
func (r *Request) admits(m *memory.Memory) bool {
	return (!r.historical || !m.CreatedAt.After(r.AsOf)) && !m.Expired(r.AsOf) && r.Filter.Matches(m, r.AsOf)
}
