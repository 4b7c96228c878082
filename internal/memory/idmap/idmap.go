// Package idmap finds memories in a slice by their ids, or by what else they have, in a third of the bytes that a map of
// strings takes.
package idmap

import (
	"hash/maphash"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Map maps the ids of memories to their positions in a slice, which its owner passes to the methods that compare ids:
// the ids themselves are not kept twice. Methods that change it need exclusive access; Find and Len may run
// concurrently. The zero value is not usable.
type Map struct {
	seed  maphash.Seed
	table *Table
}

// New returns an empty Map with room for so many ids.
func New(size int) *Map {
	return &Map{seed: maphash.MakeSeed(), table: NewTable(size)}
}

// Clone returns a copy.
func (m *Map) Clone() *Map {
	return &Map{m.seed, m.table.clone()}
}

// Len is the number of ids.
func (m *Map) Len() int { return m.table.count }

// Find returns the position of the memory with an id.
func (m *Map) Find(id string, memories []*memory.Memory) (position uint32, found bool) {
	return m.table.Find(m.hash(id), func(at uint32) bool { return memories[at].ID == id })
}

// Add adds an id, which must not be there, and the position at which its memory is or will be.
func (m *Map) Add(id string, position uint32) { m.table.Add(m.hash(id), position) }

// FindOrAdd returns the position of the memory with an id. If there is none, it adds the id with another position, at
// which its memory will be.
func (m *Map) FindOrAdd(id string, other uint32, memories []*memory.Memory) (position uint32, found bool) {
	hash := m.hash(id)
	position, found = m.table.Find(hash, func(at uint32) bool { return memories[at].ID == id })
	if !found {
		m.table.Add(hash, other)
		position = other
	}
	return position, found
}

// Remove removes an id, whose memory must still be at its position. One that is not there is ignored.
func (m *Map) Remove(id string, memories []*memory.Memory) {
	m.table.Remove(m.hash(id), func(at uint32) bool { return memories[at].ID == id })
}

// hash has 32 bits.
func (m *Map) hash(id string) uint32 { return uint32(maphash.String(m.seed, id) >> 32) }

// Table maps hashes to positions. Different things may have the same hash: the owner says which position is meant. An
// entry takes 10 to 15 bytes, of a large table 10 to 11, and the garbage collector does not read them.
//
// It is a hash table with open addressing and linear probing. Methods that change it need exclusive access; Find may
// run concurrently. The zero value is empty.
type Table struct {
	// entries have a hash in the upper half and a position plus one in the lower; 0 is unused. They are in order of
	// their hashes, up to those that wrap around at the end: growing writes them in sequence.
	entries []uint64
	count   int
	// parts of a large table, which has no entries itself, by the upper bits of the hash. They have the bits below. Each
	// grows by itself: nobody waits for a million entries to be copied, and the old ones are no garbage at once.
	parts *[1 << partBits]Table
}

const (
	partBits = 8
	large    = 1 << 16           // positions of a Table that has parts
	many     = large >> partBits // of which each has so many at first
)

// NewTable returns an empty Table with room for so many positions.
func NewTable(size int) *Table {
	if size < large {
		return &Table{entries: make([]uint64, roomFor(size))}
	}
	each := size>>partBits + size>>(partBits+4) // hashes are not spread evenly
	t := &Table{parts: new([1 << partBits]Table)}
	for i := range t.parts {
		t.parts[i].entries = make([]uint64, roomFor(each))
	}
	return t
}

// roomFor is how many entries a Table of so many positions has: four in five are used at most.
func roomFor(size int) int { return size + size/4 + 1 }

// clone returns a copy.
func (t *Table) clone() *Table {
	c := &Table{entries: slices.Clone(t.entries), count: t.count}
	if t.parts != nil {
		c.parts = new([1 << partBits]Table)
		for i := range t.parts {
			c.parts[i] = *t.parts[i].clone()
		}
	}
	return c
}

// part returns the part of a large table that has a hash, and the hash in it.
func (t *Table) part(hash uint32) (part *Table, below uint32) {
	return &t.parts[hash>>(32-partBits)], hash << partBits
}

// Find returns the position with a hash that is meant.
func (t *Table) Find(hash uint32, meant func(position uint32) bool) (position uint32, found bool) {
	if t.parts != nil {
		part, below := t.part(hash)
		return part.Find(below, meant)
	}
	at, found := t.find(hash, meant)
	if !found {
		return 0, false
	}
	return positionOf(t.entries[at]), true
}

// Add adds a position, which must not be there.
func (t *Table) Add(hash, position uint32) {
	if t.parts == nil && t.count == large {
		t.divide()
	}
	t.count++
	if t.parts != nil {
		part, below := t.part(hash)
		part.Add(below, position)
		return
	}
	if roomFor(t.count) > len(t.entries) {
		t.grow()
	}
	t.insert(uint64(hash)<<32 | uint64(position) + 1)
}

// Remove removes the position with a hash that is meant. One that is not there is ignored.
func (t *Table) Remove(hash uint32, meant func(position uint32) bool) { t.remove(hash, meant) }

// remove is Remove, and reports whether the position was there.
func (t *Table) remove(hash uint32, meant func(position uint32) bool) (found bool) {
	if t.parts != nil {
		part, below := t.part(hash)
		if found = part.remove(below, meant); found {
			t.count--
		}
		return found
	}
	hole, found := t.find(hash, meant)
	if !found {
		return false
	}
	t.count--
	// Entries behind the hole move into it, unless that is before where a search for them begins.
	for at := t.after(hole); t.entries[at] != 0; at = t.after(at) {
		if t.distance(t.home(t.entries[at]), at) >= t.distance(hole, at) {
			t.entries[hole] = t.entries[at]
			hole = at
		}
	}
	t.entries[hole] = 0
	return true
}

// find returns which entry is that of a hash and the position that is meant.
func (t *Table) find(hash uint32, meant func(position uint32) bool) (at int, found bool) {
	if len(t.entries) == 0 {
		return 0, false
	}
	for at = t.home(uint64(hash) << 32); t.entries[at] != 0; at = t.after(at) {
		if e := t.entries[at]; uint32(e>>32) == hash && meant(positionOf(e)) {
			return at, true
		}
	}
	return 0, false
}

// insert puts an entry into the first unused place from where a search for it begins.
func (t *Table) insert(entry uint64) {
	at := t.home(entry)
	for t.entries[at] != 0 {
		at = t.after(at)
	}
	t.entries[at] = entry
}

// grow makes room for half as many positions again, of many for an eighth.
func (t *Table) grow() {
	more := t.count/2 + 8
	if t.count > many {
		more = t.count / 8
	}
	old := t.entries
	t.entries = make([]uint64, roomFor(t.count+more))
	for _, e := range old {
		if e != 0 {
			t.insert(e)
		}
	}
}

// divide makes parts of a table.
func (t *Table) divide() {
	parts := NewTable(t.count + t.count/8).parts
	for _, e := range t.entries {
		if e != 0 {
			hash := uint32(e >> 32)
			parts[hash>>(32-partBits)].Add(hash<<partBits, positionOf(e))
		}
	}
	t.parts, t.entries = parts, nil
}

func positionOf(entry uint64) uint32 { return uint32(entry) - 1 }

// home is where a search for an entry begins: in proportion to its hash.
func (t *Table) home(entry uint64) int { return int(entry >> 32 * uint64(len(t.entries)) >> 32) }

// after is the place after another, around the end.
func (t *Table) after(at int) int {
	if at++; at < len(t.entries) {
		return at
	}
	return 0
}

// distance is how many steps lead from one place to another, around the end.
func (t *Table) distance(from, to int) int {
	if to >= from {
		return to - from
	}
	return to - from + len(t.entries)
}
