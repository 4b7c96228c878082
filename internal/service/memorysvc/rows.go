package memorysvc

import (
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// rows keeps beside each memory of the spaces that are listed what lists look at, side by side: fetching 100,000
// memories from RAM is what a page would cost. A row counts only for the very value it was made of, which never
// changes, so nothing need be told of a write.
type rows struct {
	mu     sync.RWMutex
	spaces map[string][]row // in the order of the space; guarded by mu
}

// The bounds of what is kept: 56 bytes for a memory.
const (
	leastRows = 1000 // memories of a space; a smaller one is looked at as it is
	maxListed = 8    // spaces
)

// row is what lists look at of one memory.
type row struct {
	memory           *memory.Memory
	created, updated int64 // in microseconds since 1970
	access           int64
	expires          int64 // in nanoseconds since 1970, never or farOff
	salience         float64
	marks            tagBloom
}

const (
	never  = math.MaxInt64
	farOff = math.MinInt64 // the memory itself must be asked
)

// tagBloom hold a hash of the category in bits 0 to 7, one of the source in 8 to 15 and one bit for each tag in 16 to
// 29.
type tagBloom uint32

const (
	sourceShift = 8
	tagShift    = 16
	tagBits     = 14
	activeMark  = 1 << 30
	pinnedMark  = 1 << 31
)

// hashSeed is of this process; no hash outlives it.
var hashSeed = maphash.MakeSeed()

// hash returns a hash that is stable within this process.
func hash(s string) uint64 { return maphash.String(hashSeed, s) }

// tagBloomOf returns the Bloom bit of a tag: a row without it cannot have the tag (Bloom, 1970).
func tagBloomOf(tag string) tagBloom { return 1 << (tagShift + hash(tag)%tagBits) }

// rowOf returns the row of a memory: what lists filter and sort by, in one cache line.
func rowOf(m *memory.Memory) row {
	r := row{
		memory: m, created: m.CreatedAt.UnixMicro(), updated: m.UpdatedAt.UnixMicro(), access: m.AccessCount(),
		expires: never, salience: m.Salience,
		marks: tagBloom(hash(m.Category)&0xff) | tagBloom(hash(m.Source)&0xff)<<sourceShift,
	}
	for _, t := range m.Tags {
		r.marks |= tagBloomOf(t)
	}
	if m.IsActive() {
		r.marks |= activeMark
	}
	if m.Pinned {
		r.marks |= pinnedMark
	}
	if e := m.ExpiresAt(); !m.Pinned && !e.IsZero() {
		if r.expires = e.UnixNano(); !time.Unix(0, r.expires).Equal(e) {
			r.expires = farOff
		}
	}
	return r
}

// key is Order.key of the memory.
func (r *row) key(o Order) int64 {
	switch o {
	case ByUpdated:
		return r.updated
	case BySalience:
		return int64(math.Float64bits(r.salience))
	case ByAccess:
		return r.access
	default:
		return r.created
	}
}

// rowFilter is a filter as far as rows can tell.
type rowFilter struct {
	filter              *memory.Filter
	now                 time.Time
	nano                int64    // of now
	exact               bool     // what passes must be asked itself
	must, mustNot       tagBloom // all, none of these
	tags                tagBloom // any of these
	categories, sources []uint32 // any of these hashes
	created, updated    [2]int64 // inclusive, in microseconds
}

// newRowFilter compiles a filter to tests on rows. What rows cannot decide is tested on the memory.
func newRowFilter(f *memory.Filter, now time.Time) rowFilter {
	s := rowFilter{filter: f, now: now, nano: now.UnixNano()}
	s.exact = len(f.Statuses)+len(f.Categories)+len(f.Sources)+len(f.Tags)+len(f.Sessions) > 0
	if len(f.Statuses) == 0 {
		s.must = activeMark
	}
	if f.Pinned != nil && *f.Pinned {
		s.must |= pinnedMark
	} else if f.Pinned != nil {
		s.mustNot |= pinnedMark
	}
	for _, t := range f.Tags {
		// The bits are a Bloom filter: they rule out most memories without touching them, and exact decides the
		// rest.
		s.tags |= tagBloomOf(t)
	}
	for _, c := range f.Categories {
		s.categories = append(s.categories, uint32(hash(c)&0xff))
	}
	for _, c := range f.Sources {
		s.sources = append(s.sources, uint32(hash(c)&0xff))
	}
	s.created, s.updated = s.micros(f.CreatedFrom, f.CreatedBefore), s.micros(f.UpdatedFrom, f.UpdatedBefore)
	return s
}

// micros bounds a range of time. At its ends, less than a microsecond decides, which the memory itself is asked for.
func (s *rowFilter) micros(from, before time.Time) [2]int64 {
	out := [2]int64{math.MinInt64, math.MaxInt64}
	if !from.IsZero() {
		out[0], s.exact = from.UnixMicro(), true
	}
	if !before.IsZero() {
		out[1], s.exact = before.UnixMicro(), true
	}
	return out
}

// matches is Filter.Matches.
func (s *rowFilter) matches(r *row) bool {
	if r.marks&s.must != s.must || r.marks&s.mustNot != 0 || s.tags != 0 && r.marks&s.tags == 0 ||
		!(r.salience >= s.filter.MinSalience) ||
		r.created < s.created[0] || r.created > s.created[1] || r.updated < s.updated[0] || r.updated > s.updated[1] ||
		len(s.categories) > 0 && !slices.Contains(s.categories, uint32(r.marks&0xff)) ||
		len(s.sources) > 0 && !slices.Contains(s.sources, uint32(r.marks>>sourceShift&0xff)) {
		return false
	}
	if s.exact || r.expires == farOff {
		return s.filter.Matches(r.memory, s.now)
	}
	return s.nano < r.expires
}

// scan calls visit with the row of every memory, the last first. all is what the space holds now.
func (r *rows) scan(space string, all []*memory.Memory, visit func(*row)) {
	r.mu.RLock()
	kept, fresh := r.spaces[space], 0
	for i, m := range slices.Backward(all) {
		if i < len(kept) && kept[i].memory == m {
			visit(&kept[i])
			continue
		}
		made := rowOf(m)
		visit(&made)
		fresh++
	}
	r.mu.RUnlock()
	if fresh > 0 || len(kept) > len(all) {
		r.keep(space, all)
	}
}

// keep makes the rows of a space those of all.
func (r *rows) keep(space string, all []*memory.Memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(all) < leastRows {
		delete(r.spaces, space)
		return
	}
	if r.spaces == nil || len(r.spaces) >= maxListed && r.spaces[space] == nil {
		r.spaces = map[string][]row{}
	}
	kept := r.spaces[space]
	// Cleared, so that the slice does not keep removed memories alive.
	clear(kept[min(len(all), len(kept)):])
	kept = slices.Grow(kept[:min(len(all), len(kept))], len(all)-min(len(all), len(kept)))
	for i := range kept {
		if kept[i].memory != all[i] {
			kept[i] = rowOf(all[i])
		}
	}
	for _, m := range all[len(kept):] {
		kept = append(kept, rowOf(m))
	}
	r.spaces[space] = kept
}

// Release gives back what was kept to list and count faster. After a purge that is the last that holds what was erased.
func (s *Service) Release() {
	s.tallies.release()
	s.rows.mu.Lock()
	defer s.rows.mu.Unlock()
	s.rows.spaces = nil
}
