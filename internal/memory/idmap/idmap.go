// Package idmap finds memories in a slice by their ids, in a third of the bytes that a map of strings takes.
package idmap

import (
	"hash/maphash"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Map maps the ids of memories to their positions in a slice, which its owner passes to the methods that compare ids:
// the ids themselves are not kept twice. An entry takes 11 to 16 bytes, and the garbage collector does not read them.
//
// It is a hash table with open addressing and linear probing. Methods that change it need exclusive access; Find and
// Len may run concurrently. The zero value is not usable.
type Map struct {
	seed maphash.Seed
	// entries have the hash of an id in the upper half and its position plus one in the lower; 0 is unused. They are
	// in order of their hashes, up to those that wrap around at the end: growing writes them in sequence.
	entries []uint64
	count   int
}

// New returns an empty Map with room for so many ids.
func New(size int) *Map {
	return &Map{seed: maphash.MakeSeed(), entries: make([]uint64, roomFor(size))}
}

// roomFor is how many entries a Map of so many ids has: two in three are used at most.
func roomFor(size int) int { return size + size/2 + 1 }

// Clone returns a copy.
func (m *Map) Clone() *Map { return &Map{m.seed, slices.Clone(m.entries), m.count} }

// Len is the number of ids.
func (m *Map) Len() int { return m.count }

// Find returns the position of the memory with an id.
func (m *Map) Find(id string, memories []*memory.Memory) (position uint32, found bool) {
	at, found := m.find(id, memories)
	if !found {
		return 0, false
	}
	return positionOf(m.entries[at]), true
}

// Add adds an id, which must not be there, and the position at which its memory is or will be.
func (m *Map) Add(id string, position uint32) {
	if roomFor(m.count+1) > len(m.entries) {
		m.grow()
	}
	m.insert(m.hash(id)<<32 | uint64(position) + 1)
	m.count++
}

// Remove removes an id, whose memory must still be at its position. One that is not there is ignored.
func (m *Map) Remove(id string, memories []*memory.Memory) {
	hole, found := m.find(id, memories)
	if !found {
		return
	}
	m.count--
	// Entries behind the hole move into it, unless that is before where a search for them begins.
	for at := m.after(hole); m.entries[at] != 0; at = m.after(at) {
		if m.distance(m.home(m.entries[at]), at) >= m.distance(hole, at) {
			m.entries[hole] = m.entries[at]
			hole = at
		}
	}
	m.entries[hole] = 0
}

// find returns which entry is that of an id.
func (m *Map) find(id string, memories []*memory.Memory) (at int, found bool) {
	hash := m.hash(id)
	for at = m.home(hash << 32); m.entries[at] != 0; at = m.after(at) {
		if e := m.entries[at]; e>>32 == hash && memories[positionOf(e)].ID == id {
			return at, true
		}
	}
	return 0, false
}

// insert puts an entry into the first unused place from where a search for it begins.
func (m *Map) insert(entry uint64) {
	at := m.home(entry)
	for m.entries[at] != 0 {
		at = m.after(at)
	}
	m.entries[at] = entry
}

// grow makes room for half as many ids again.
func (m *Map) grow() {
	old := m.entries
	m.entries = make([]uint64, roomFor(m.count+m.count/2+8))
	for _, e := range old {
		if e != 0 {
			m.insert(e)
		}
	}
}

// hash has 32 bits.
func (m *Map) hash(id string) uint64 { return maphash.String(m.seed, id) >> 32 }

func positionOf(entry uint64) uint32 { return uint32(entry) - 1 }

// home is where a search for an entry begins: in proportion to its hash.
func (m *Map) home(entry uint64) int { return int(entry >> 32 * uint64(len(m.entries)) >> 32) }

// after is the place after another, around the end.
func (m *Map) after(at int) int {
	if at++; at < len(m.entries) {
		return at
	}
	return 0
}

// distance is how many steps lead from one place to another, around the end.
func (m *Map) distance(from, to int) int {
	if to >= from {
		return to - from
	}
	return to - from + len(m.entries)
}
