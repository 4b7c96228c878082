package search

import (
	"math"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// The profiles: how the score of a match is made.
const (
	// Balanced is keyword relevance (0 to 1) × (0.9 + 0.1·f), f from salience, recency, accesses and pin: the boosts
	// decide only between near-ties, so that an old truth is still found.
	Balanced = "balanced"
	// Product is relevance × salience × exp(−λ · days since the last access).
	Product = "product"
	// Weighted is 0.6 · relevance + 0.2 · exp(−days since the last access / 30) + 0.2 · salience.
	Weighted = "weighted"
	// Overlap counts the words of the query found in title, tags and category twice and those found in the content once;
	// of equals, the newest first. Its score is that count.
	Overlap = "overlap"
	// Recent puts the matches in order of creation, newest first. Its score is the relevance.
	Recent = "recent"
)

// The arms: what decides which memories are looked at, and how relevant they are.
const (
	// Keyword goes by words alone.
	Keyword = "keyword"
	// Fusion goes by words, and lets meaning take part in the order when there are vectors: Balanced only. It may wait a quarter of a second for the
	// direction of the query, and does without when that is too short.
	Fusion = "fusion"
	// Vector goes by meaning alone and never abstains while there are vectors: for measuring. Balanced only.
	Vector = "vector"
)

const (
	defaultK = 10
	maxQuery = 8000 // characters
)

// Request asks for memories.
type Request struct {
	Spaces  []string // none is the default space; an unknown space is empty
	Query   string   // at most 8,000 characters
	K       int      // results, 1 to 200; 0 is 10
	Profile string   // one of the profile constants; "" is Balanced
	Arm     string   // one of the arm constants; "" is Keyword
	Filter  Filter
	// AsOf is the time the request is answered for; zero is now. Ages, decay, expiry and relative dates in the query
	// count from it, days begin by its location, and what was created later is not found.
	AsOf    time.Time
	Explain bool // fill in Hit.Parts
	// Enough is told of each hit, best first, and says whether it is the last one that is wanted: of the best that are looked at, 2·K+20, all may be.
	// It must be quick. nil wants K.
	Enough func(*Hit) bool
	// Terms tells of a hit whether Hit.Terms is wanted; nil wants it of none.
	Terms func(m *memory.Memory) bool
	// Patience is how long the direction of the query is waited for; 0 is as long as the embedder thinks right.
	Patience time.Duration
	UseDecay *bool // false takes time since the last access out of the score; nil is true
	// Beside is searched together with the spaces, by words alone, and not at all with the arm Vector. A memory that says what
	// one of its texts says takes its place.
	Beside []Beside
}

// Filter narrows a search; all conditions must hold, an empty one always does.
type Filter struct {
	Categories, Tags, Sources, Sessions []string        // any of these; a session is one a memory was learnt in
	Statuses                            []memory.Status // any of these; none is active only
	CreatedAfter, CreatedBefore         time.Time       // after inclusive, before exclusive
	UpdatedAfter, UpdatedBefore         time.Time       // the same; a memory without changes was updated when it was created
	MinScore                            float64         // of the score of the profile
	MinSalience                         float64
	Pinned                              *bool
}

// Response to a Request. The hits are best first.
type Response struct {
	Hits       []Hit
	Abstained  bool   // there is nothing to rely on: no hits
	Reason     string // why there are no hits, one of the Reason constants
	Candidates int    // memories looked at: those that share something informative with the query, before any filter
	Meant      bool   // meaning took part
}

// Reasons why a response has no hits.
const (
	ReasonNoTerms  = "NO_TERMS"   // the query has no word to search for
	ReasonNoMatch  = "NO_MATCH"   // no memory shares an informative word with it
	ReasonWeak     = "WEAK"       // what is shared is too little or too common
	ReasonFiltered = "FILTERED"   // everything relevant was excluded by the filter
	ReasonMinScore = "MIN_SCORE"  // everything relevant scored below the filter's minimum
	ReasonVectors  = "NO_VECTORS" // the arm Vector has nothing to compare, or no direction of the query
)

// Hit is a memory found. Memory is shared and must not be changed.
type Hit struct {
	Space  string
	Memory *memory.Memory // with Beside, a text of a collection
	Beside bool           // found in a collection, not in the space itself
	Score  float64
	Parts  []Part   // how the score came about; only with Request.Explain
	Terms  []string // terms of the query that it holds, as indexed; only with Request.Terms
}

// Part is one component of a score. The names are stable; "term:" is followed by the term as indexed.
type Part struct {
	Name  string
	Value float64
}

// validate fills in defaults. Error: *memory.InvalidError with every violation.
func (r *Request) validate(now func() time.Time) error {
	var c memory.Check
	c.Text("query", r.Query, maxQuery, false)
	if r.K == 0 {
		r.K = defaultK
	}
	if r.K < 1 || r.K > memory.MaxK {
		c.Add("k", "OUT_OF_RANGE", "must be from 1 to %d", memory.MaxK)
	}
	if r.Profile == "" {
		r.Profile = Balanced
	}
	if !slices.Contains([]string{Balanced, Product, Weighted, Overlap, Recent}, r.Profile) {
		c.Add("profile", "UNKNOWN_PROFILE", "must be balanced, product, weighted, overlap or recent")
	}
	if r.Arm == "" {
		r.Arm = Keyword
	}
	if !slices.Contains([]string{Keyword, Fusion, Vector}, r.Arm) || r.Arm == Vector && r.Profile != Balanced {
		c.Add("arm", "UNKNOWN_ARM", "must be keyword, fusion or, with the profile balanced, vector")
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"filter.min_score", r.Filter.MinScore}, {"filter.min_salience", r.Filter.MinSalience}} {
		if math.IsNaN(f.value) {
			c.Add(f.name, "OUT_OF_RANGE", "must be a number")
		}
	}
	if r.AsOf.IsZero() {
		r.AsOf = now()
	}
	if len(r.Spaces) == 0 {
		r.Spaces = []string{memory.DefaultSpace}
	}
	return c.Err()
}

// admits reports whether m may be found at all.
func (r *Request) admits(m *memory.Memory) bool {
	if m.CreatedAt.After(r.AsOf) || m.Expired(r.AsOf) {
		return false
	}
	f := &r.Filter
	if len(f.Statuses) == 0 {
		if !m.IsActive() {
			return false
		}
	} else if !slices.Contains(f.Statuses, m.Status) && !(m.Status == "" && slices.Contains(f.Statuses, memory.Active)) {
		return false
	}
	return anyOf(f.Categories, m.Category) && anyOf(f.Sources, m.Source) &&
		(len(f.Tags) == 0 || slices.ContainsFunc(m.Tags, func(t string) bool { return slices.Contains(f.Tags, t) })) &&
		(len(f.Sessions) == 0 || slices.ContainsFunc(f.Sessions, func(s string) bool { return learntIn(m, s) })) &&
		(f.CreatedAfter.IsZero() || !m.CreatedAt.Before(f.CreatedAfter)) &&
		(f.CreatedBefore.IsZero() || m.CreatedAt.Before(f.CreatedBefore)) && f.updated(m) &&
		m.Salience >= f.MinSalience && (f.Pinned == nil || *f.Pinned == m.Pinned)
}

// bare reports that nothing but the score is filtered.
func (f *Filter) bare() bool {
	return len(f.Categories) == 0 && len(f.Tags) == 0 && len(f.Sources) == 0 && len(f.Sessions) == 0 && len(f.Statuses) == 0 &&
		f.CreatedAfter.IsZero() && f.CreatedBefore.IsZero() && f.UpdatedAfter.IsZero() && f.UpdatedBefore.IsZero() &&
		f.MinSalience <= 0 && f.Pinned == nil
}

func (f *Filter) updated(m *memory.Memory) bool {
	if f.UpdatedAfter.IsZero() && f.UpdatedBefore.IsZero() {
		return true
	}
	at := m.UpdatedAt
	if at.IsZero() {
		at = m.CreatedAt
	}
	return (f.UpdatedAfter.IsZero() || !at.Before(f.UpdatedAfter)) && (f.UpdatedBefore.IsZero() || at.Before(f.UpdatedBefore))
}

func anyOf(wanted []string, got string) bool { return len(wanted) == 0 || slices.Contains(wanted, got) }

func learntIn(m *memory.Memory, session string) bool {
	if m.Context != nil && m.Context.LearnedFrom == "session_"+session {
		return true
	}
	return slices.ContainsFunc(m.Evidence, func(e memory.Evidence) bool { return e.Session == session })
}
