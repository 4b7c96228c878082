package search

import (
	"math"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// docFeatures are what a score needs of a memory beside its terms. They fit into one cache line, so that most memories
// are never read.
type docFeatures struct {
	salience    float64
	accessBoost float64 // share of accesses in the boost of Balanced
	created     int64   // nanoseconds since 1970
	accessed    int64   // nanoseconds since 1970; the earliest time is never
	length      float32 // weighted words
	pinned      bool
	active      bool
	expires     bool
	question    bool   // it asks something
	turnLength  uint16 // characters of a turn of a dialogue, see turnLength; 0 for no turn
}

func featuresOf(m *memory.Memory, length float32) docFeatures {
	return docFeatures{
		salience: m.Salience, accessBoost: accessBoost(m), created: unixNano(m.CreatedAt),
		accessed: unixNano(m.LastAccessed),
		length:   length, pinned: m.Pinned, active: m.IsActive(), expires: !m.ExpiresAt.IsZero(),
		question: isQuestion(m), turnLength: turnLength(m),
	}
}

// maxUnixSeconds is how far from 1970 times are distinguished: the difference of any two fits into a time.Duration.
const maxUnixSeconds = 4_000_000_000

// unixNano is t.UnixNano with times out of its range clamped.
func unixNano(t time.Time) int64 {
	if s := t.Unix(); s <= -maxUnixSeconds || s >= maxUnixSeconds {
		return min(max(s, -maxUnixSeconds), maxUnixSeconds) * int64(time.Second)
	}
	return t.UnixNano()
}

// idleDays is the time since the last access in whole days, rounded down. Without an access, or when the access is later
// than asOf, it counts from the creation.
func (f *docFeatures) idleDays(asOf int64) float64 {
	last := f.accessed
	if last <= -maxUnixSeconds*int64(time.Second) || last > asOf {
		last = f.created
	}
	return float64(max(0, (asOf-last)/int64(24*time.Hour)))
}

// accessBoost is the share of accesses in the boost of Balanced: logarithmic, full from fullAccess on.
func accessBoost(m *memory.Memory) float64 {
	return boostAccess * min(1, math.Log1p(float64(m.AccessCount))/math.Log1p(fullAccess))
}
