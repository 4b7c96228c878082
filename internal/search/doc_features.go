package search

import (
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// docFeatures are what a score needs of a memory beside its terms. They fit into one cache line, so that most memories
// are never read.
type docFeatures struct {
	salience   float64
	created    int64 // nanoseconds since 1970
	accessed   int64 // nanoseconds since 1970; the earliest time is never
	active     bool
	expires    bool
	question   bool   // it asks something
	turnLength uint16 // characters of a turn of a dialogue, see turnLength; 0 for no turn
}

func featuresOf(m *memory.Memory) docFeatures {
	return docFeatures{
		salience: m.Salience, created: unixNano(m.CreatedAt), accessed: unixNano(m.LastAccessed()),
		active: m.IsActive(), expires: !m.ExpiresAt().IsZero(),
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

// idleDays is the time since the last access in whole days, rounded down; 0 for a time in the future. A memory that was
// never accessed counts from its creation, and accessed is false.
func (f *docFeatures) idleDays(req *Request) (days float64, accessed bool) {
	last, asOf := f.accessed, unixNano(req.AsOf)
	accessed = last > -maxUnixSeconds*int64(time.Second) && (last <= asOf || !req.historical)
	if !accessed {
		last = f.created
	}
	return float64(max(0, (asOf-last)/int64(24*time.Hour))), accessed
}
