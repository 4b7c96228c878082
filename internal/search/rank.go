package search

import (
	"math"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/vector"
)

// The parts of f, which moves a balanced score by at most a tenth.
const (
	boostSpan     = 0.1
	boostSalience = 0.4
	boostRecency  = 0.3
	boostAccess   = 0.2
	boostPin      = 0.1
	fullAccess    = 20 // accesses that count as many
)

const (
	dateShare    = 0.3  // of what is missing to full relevance, for a memory of the time the query names
	phraseShare  = 0.5  // the same, for a memory that holds the query literally
	dateOnly     = 0.5  // relevance of a memory that was asked for by its date alone
	weightedDays = 30   // time scale of Weighted, in days
	allTerms     = 0.99 // coverage that leaves no term out, rounding aside
	tail         = 0.15 // of the best relevance: what is further behind is noise
	poolExtra    = 20   // candidates ranked beyond k, for what only a closer look shows
)

// The weights of Weighted.
const (
	weightRelevance = 0.6
	weightDecay     = 0.2
	weightSalience  = 0.2
)

// ranking makes scores of the candidates of one request.
type ranking struct {
	req      *Request
	q        *query
	work     *scratch
	lambda   float64
	asOf     int64 // in nanoseconds since 1970
	decay    bool
	outlook  outlook
	sieve    sieve
	pool     best
	relevant int // candidates above the floor
	scored   int // of these, admitted by the filter
	category map[string]int
	reader   func(space string) *index
	exact    bool                            // something holds an identifier of the query
	asks     func() (vector.Direction, bool) // the direction of the query; nil without meaning
	asked    bool                            // what follows is known
	towards  vector.Direction                // the direction of the query
	directed bool                            // there is one
	kin      map[string][]kin                // by space, what is nearest to it
	judges   bool                            // cosines have a say in whether there is an answer
	meant    bool                            // meaning took part
}

func newRanking(req *Request, q *query, e *Engine) *ranking {
	r := &ranking{
		req: req, q: q, lambda: e.lambda, reader: e.readerOf(req), judges: e.embedder != nil && e.embedder.Calibrated(), asOf: nanoseconds(req.AsOf),
		decay: req.UseDecay == nil || *req.UseDecay,
		pool:  best{limit: 2*req.K + poolExtra},
		sieve: newSieve(req),
	}
	r.outlook = outlook{formula: formulas[req.Profile], dates: len(q.dates) > 0, decay: r.decay, asOf: minutes(req.AsOf), fading: e.fading}
	if req.Profile == Weighted {
		r.outlook.fading = e.slowFading
	}
	return r
}

// judge keeps a candidate when it is among the best so far.
func (r *ranking) judge(x *index, space string, c *candidate) {
	d := &x.facts[c.doc].detail
	known := len(r.q.dates) == 0 && r.req.Profile != Overlap && r.req.Profile != Recent
	f := found{space: space, doc: c.doc, detail: *d, relevance: c.relevance, whole: c.coverage > allTerms, dated: c.dated, sure: c.sure}
	if known { // without touching the memory
		if f.score = r.score(&f, false); r.pool.excludes(f.score, d.created) {
			return
		}
	}
	m := x.docs[c.doc]
	if !r.sieve.sure(&x.facts[c.doc], r.asOf) && !r.req.admits(m) {
		return
	}
	r.scored++
	f.memory = m
	switch {
	case known:
	case r.req.Profile == Overlap:
		f.score, f.parts = r.overlap(x, c.doc, m)
	case r.req.Profile == Recent: // the newest are kept; finish sets the score
		f.score = float64(m.CreatedAt.UnixMilli())
	default:
		f.score = r.score(&f, false)
	}
	if f.score < r.pool.bar() {
		return
	}
	if r.req.Explain && r.req.Profile != Overlap {
		f.parts = x.explain(r.q.terms, c.doc)
	}
	r.pool.push(&f)
}

// outdone reports that a document of those details is not kept if its relevance is no more than that, because something as good and newer is the worst that is.
func (r *ranking) outdone(d *detail, relevance float64) bool {
	return r.outlook.formula == balanced && !r.outlook.dates && r.pool.outdone(relevance, d, r.asOf)
}

// inCategory counts the words of the query among those of the category, plural or not.
func (r *ranking) inCategory(m *memory.Memory) int {
	n, ok := r.category[m.Category]
	if ok {
		return n
	}
	n = r.wordsOf(m.Category)
	if r.category == nil {
		r.category = map[string]int{}
	}
	r.category[m.Category] = n
	return n
}

func (r *ranking) wordsOf(category string) (n int) {
	for field := range strings.FieldsFuncSeq(category, isNameSeparator) {
		stemmed := stem(field)
		if slices.ContainsFunc(r.q.terms, func(t queryTerm) bool { return t.kind <= part && t.term == stemmed }) {
			n++
		}
	}
	return n
}

// overlap is the score of Overlap, and its parts when the request asks for them.
func (r *ranking) overlap(x *index, doc uint32, m *memory.Memory) (score float64, parts []Part) {
	note := func(name, term string, v float64) {
		score += v
		if r.req.Explain && v > 0 {
			parts = append(parts, Part{name + term, v})
		}
	}
	note("category", "", float64(metaWeight*r.inCategory(m)))
	for i := range r.q.terms {
		t := &r.q.terms[i]
		if !t.counts() {
			continue
		}
		at, ok := find(t.list, doc)
		if ok && t.list[at].inMeta() {
			note("title:", t.term, metaWeight)
		}
		if ok && t.list[at].inContent() {
			note("content:", t.term, contentWeight)
		}
	}
	return score, parts
}

func (r *ranking) onDate(m *memory.Memory) bool {
	return slices.ContainsFunc(r.q.dates, func(s span) bool { return s.holds(m.CreatedAt) })
}

// score makes the score of every profile but Overlap out of the relevance. With closer it looks for the literal query, too, and
// records the parts when the request asks for them.
func (r *ranking) score(f *found, closer bool) float64 {
	d, relevance := &f.detail, f.relevance
	note := func(name string, v float64) {
		if closer && r.req.Explain {
			f.parts = append(f.parts, Part{name, v})
		}
	}
	if f.dated {
		note("date", relevance)
	} else {
		note("keyword", relevance)
	}
	if len(r.q.dates) > 0 && !f.dated && r.onDate(f.memory) {
		gain := (1 - relevance) * dateShare
		note("date", gain)
		relevance += gain
	}
	if closer && f.whole && r.literal(f.memory) {
		gain := (1 - relevance) * phraseShare
		note("phrase", gain)
		relevance += gain
	}
	if closer && r.req.Profile == Balanced {
		relevance = r.closerRelevance(f, relevance, note)
	}
	note("relevance", relevance)
	days := float64(d.idleMinutes(r.asOf)) / (24 * 60)
	switch r.req.Profile {
	case Product:
		decay := r.exp(r.lambda, days)
		note("salience", d.salience)
		note("decay", decay)
		return relevance * d.salience * decay
	case Weighted:
		decay := r.exp(1.0/weightedDays, days)
		note("decay", decay)
		note("salience", d.salience)
		return weightRelevance*relevance + weightDecay*decay + weightSalience*d.salience
	case Recent:
		return relevance
	}
	b := r.boost(d, days)
	note("salience", boostSalience*d.salience)
	note("recency", b.recency)
	note("access", b.access)
	note("pin", b.pin)
	boost := 1 - boostSpan + boostSpan*(boostSalience*d.salience+b.recency+b.access+b.pin)
	note("boost", boost)
	return relevance * boost
}

type boosts struct{ recency, access, pin float64 }

func (r *ranking) boost(d *detail, days float64) (b boosts) {
	if r.decay {
		b.recency = boostRecency * math.Exp(-r.lambda*days)
	}
	b.access = d.access
	if d.pinned {
		b.pin = boostPin
	}
	return b
}

func accessBoost(m *memory.Memory) float64 {
	return boostAccess * min(1, math.Log1p(float64(m.AccessCount))/math.Log1p(fullAccess))
}

// exp is exp(−rate·days), or 1 when the request does without decay.
func (r *ranking) exp(rate, days float64) float64 {
	if !r.decay {
		return 1
	}
	return math.Exp(-rate * days)
}

// closerRelevance adds what only the closer look shows.
func (r *ranking) closerRelevance(f *found, relevance float64, note func(string, float64)) float64 {
	add := func(name string, gain float64) {
		if gain = min(gain, 1-relevance); gain != 0 {
			note(name, gain)
			relevance += gain
		}
	}
	add("vector", f.lift)
	add("neighbours", f.gain)
	add("subject", relevance*r.subject(f.memory))
	switch {
	case f.exact > 0:
		share := min(1, float64(f.exact)/float64(len(r.q.exact)))
		add("exact", exactFloor+(1-exactFloor)*(0.7*share+0.3*relevance)-relevance)
	case r.exact:
		add("inexact", (exactRest-1)*relevance)
	}
	return relevance
}
