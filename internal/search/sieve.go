package search

import (
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// marks are what a filter looks at, small enough to lie beside the other traits: bits 0 to 7 are a hash of the category,
// 8 to 15 one of the source, 16 to 28 have one bit set for each tag, 29 says that it expires, 30 active, 31 pinned.
type marks uint32

const (
	sourceShift = 8
	tagShift    = 16
	tagBits     = 13
	mortalMark  = 1 << 29
	activeMark  = 1 << 30
	pinnedMark  = 1 << 31
)

// hashSeed is the same for all marks of a process; they are never stored.
var hashSeed = maphash.MakeSeed()

func hash(s string) uint64 { return maphash.String(hashSeed, s) }

func tagMark(tag string) marks { return 1 << (tagShift + hash(tag)%tagBits) }

func marksOf(m *memory.Memory) marks {
	all := marks(hash(m.Category)&0xff) | marks(hash(m.Source)&0xff)<<sourceShift
	for _, t := range m.Tags {
		all |= tagMark(t)
	}
	if !m.ExpiresAt.IsZero() {
		all |= mortalMark
	}
	if m.IsActive() {
		all |= activeMark
	}
	if m.Pinned {
		all |= pinnedMark
	}
	return all
}

// sieve holds back memories that a request does not admit, most of them, and never one that it does.
type sieve struct {
	must, mustNot       marks
	tags                marks    // any of these
	categories, sources []uint32 // any of these hashes
	salience            float32
	from, to            uint32 // minutes of creation, inclusive
	bare                bool   // the request has no filter but for the score
}

func newSieve(req *Request) sieve {
	f := &req.Filter
	s := sieve{salience: float32(f.MinSalience) - 1e-6, to: math.MaxUint32, bare: f.bare()}
	if len(f.Statuses) == 0 {
		s.must |= activeMark
	}
	if f.Pinned != nil && *f.Pinned {
		s.must |= pinnedMark
	} else if f.Pinned != nil {
		s.mustNot |= pinnedMark
	}
	for _, t := range f.Tags {
		s.tags |= tagMark(t)
	}
	for _, c := range f.Categories {
		s.categories = append(s.categories, uint32(hash(c)&0xff))
	}
	for _, c := range f.Sources {
		s.sources = append(s.sources, uint32(hash(c)&0xff))
	}
	if !f.CreatedAfter.IsZero() {
		s.from = minute(f.CreatedAfter)
	}
	for _, t := range []time.Time{req.AsOf, f.CreatedBefore} {
		if t.Unix() > 0 {
			s.to = min(s.to, minute(t))
		}
	}
	return s
}

// minute of a time since 1970, rounded down. Whatever is before 1970 is minute 0.
func minute(t time.Time) uint32 { return uint32(min(max(0, minutes(t)), math.MaxUint32)) }

func (s *sieve) passes(t *traits) bool {
	return t.marks&s.must == s.must && t.marks&s.mustNot == 0 && (s.tags == 0 || t.marks&s.tags != 0) &&
		t.salience >= s.salience && t.created >= s.from && t.created <= s.to &&
		(len(s.categories) == 0 || slices.Contains(s.categories, uint32(t.marks&0xff))) &&
		(len(s.sources) == 0 || slices.Contains(s.sources, uint32(t.marks>>sourceShift&0xff)))
}

// sure reports that the request admits a memory, which need not be looked at then.
func (s *sieve) sure(f *facts, asOf int64) bool {
	return s.bare && f.marks&(activeMark|mortalMark) == activeMark && f.detail.created < asOf
}
