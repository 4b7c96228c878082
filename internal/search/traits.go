package search

import (
	"math"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// facts are what a search looks at of a memory that shares words with the query: one cache line, which it mostly waits for.
type facts struct {
	traits
	length float32 // in weighted words
	detail
}

// traits are what a bound of a score needs of a memory, side by side, so that most memories need not be touched.
type traits struct {
	steady   float32 // what salience, accesses and pin add to f of Balanced
	salience float32
	used     uint32 // the last access or else the creation, in minutes since 1970, rounded up
	created  uint32 // in minutes since 1970, rounded down
	marks    marks
}

func traitsOf(m *memory.Memory) traits {
	t := traits{salience: float32(m.Salience), created: minute(m.CreatedAt), marks: marksOf(m)}
	t.steady, t.used = usageOf(m, accessBoost(m))
	return t
}

// usageOf are the traits that accesses change. access is accessBoost of the memory.
func usageOf(m *memory.Memory, access float64) (steady float32, used uint32) {
	last := m.CreatedAt
	if m.LastAccessed.After(last) {
		last = m.LastAccessed
	}
	sum := boostSalience*m.Salience + access
	if m.Pinned {
		sum += boostPin
	}
	return float32(sum), minute(last) + 1
}

// detail is what the score of a memory needs beside its relevance, exactly.
type detail struct {
	salience, access  float64 // access is what accesses add to f of Balanced
	created, accessed int64   // in nanoseconds since 1970; never is the earliest
	pinned            bool
}

func detailOf(m *memory.Memory) detail {
	return detail{salience: m.Salience, access: accessBoost(m), created: nanoseconds(m.CreatedAt), accessed: nanoseconds(m.LastAccessed), pinned: m.Pinned}
}

// farthest is how far from 1970 times are told apart, in seconds: differences of any two fit into a time.Duration.
const farthest = 4_000_000_000

func nanoseconds(t time.Time) int64 {
	if s := t.Unix(); s <= -farthest || s >= farthest {
		return min(max(s, -farthest), farthest) * int64(time.Second)
	}
	return t.UnixNano()
}

// idleMinutes is the time since the last access, in whole minutes, so that what was used at about the same time is equal. An access after asOf
// had not happened yet: then, as without any access, it is the time since creation.
func (d *detail) idleMinutes(asOf int64) int64 {
	last := d.accessed
	if last <= -farthest*int64(time.Second) || last > asOf {
		last = d.created
	}
	return max(0, (asOf-last)/int64(time.Minute))
}

func minutes(t time.Time) int64 { return t.Unix() / 60 }

// fading bounds exp(−rate · days) from above without computing it.
type fading struct {
	coarse [2048]float32 // by 1,024 minutes
	fine   [1024]float32 // by the rest
}

func newFading(perDay float64) *fading {
	f := &fading{}
	for i := range f.coarse {
		f.coarse[i] = float32(math.Exp(-perDay * float64(i*len(f.fine)) / (24 * 60)))
	}
	for i := range f.fine {
		f.fine[i] = float32(math.Exp(-perDay * float64(i) / (24 * 60)))
	}
	return f
}

// most is at least what is left after the given minutes, rounding aside.
func (f *fading) most(minutes int64) float32 {
	if minutes <= 0 {
		return 1
	}
	c := minutes >> 10
	if c >= int64(len(f.coarse)) {
		return f.coarse[len(f.coarse)-1]
	}
	return f.coarse[c] * f.fine[minutes&1023]
}

// outlook bounds the scores of one request.
type outlook struct {
	formula formula
	dates   bool
	decay   bool
	asOf    int64 // in minutes
	fading  *fading
}

// formula is a profile, as far as bounds differ.
type formula uint8

const (
	unbounded formula = iota
	balanced
	product
	weighted
	newest
)

var formulas = map[string]formula{Balanced: balanced, Product: product, Weighted: weighted, Recent: newest}

// generous makes up for rounding.
const generous = 1 + 1e-5

// gained is the relevance with all that a date can add.
func (o *outlook) gained(relevance float64) float64 {
	if o.dates {
		relevance += (1 - relevance) * dateShare
	}
	return relevance
}

// least is the least relevance with which any memory can reach a score before the closer look.
func (o *outlook) least(score float64) float64 {
	switch o.formula {
	case balanced, product:
	case weighted:
		score = (score - weightDecay - weightSalience) / weightRelevance
	default:
		return math.Inf(-1)
	}
	if o.dates {
		score = (score - dateShare) / (1 - dateShare)
	}
	return score - 1e-5
}

// mostOf is the most a memory of these traits can score with that relevance, or with less, before the closer look.
func (o *outlook) mostOf(t *traits, relevance float64) float64 {
	switch o.formula {
	case unbounded:
		return math.Inf(1)
	case newest:
		return float64((int64(t.created) + 1) * time.Minute.Milliseconds())
	}
	relevance = o.gained(relevance)
	left := float32(1)
	if o.decay {
		left = o.fading.most(o.asOf - int64(t.used))
	}
	switch o.formula {
	case product:
		return relevance * float64(t.salience*left) * generous
	case weighted:
		return (weightRelevance*relevance + weightDecay*float64(left) + weightSalience*float64(t.salience)) * generous
	}
	if !o.decay {
		left = 0
	}
	return relevance * (1 - boostSpan + boostSpan*float64(t.steady+boostRecency*left)) * generous
}
