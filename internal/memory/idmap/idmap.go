// Package idmap finds memories in a slice by their ids, or by what else they have, in a third of the bytes that a map
// of strings takes.
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
	return m.table.FindOrAdd(m.hash(id), other, func(at uint32) bool { return memories[at].ID == id })
}

// Remove removes an id, whose memory must still be at its position. One that is not there is ignored.
func (m *Map) Remove(id string, memories []*memory.Memory) {
	m.table.Remove(m.hash(id), func(at uint32) bool { return memories[at].ID == id })
}

// hash has 32 bits.
func (m *Map) hash(id string) uint32 { return uint32(maphash.String(m.seed, id) >> 32) }

// Table maps hashes to positions. Different things may have the same hash: the owner says which position is meant. An
// entry takes 10 to 15 bytes, of a large table 10 to 13, and the garbage collector does not read them.
//
// It is a hash table with ordered linear probing (Amble and Knuth, Ordered hash tables, The Computer Journal 17, 1974):
// a search ends at the first hash that is larger. Methods that change it need exclusive access; Find may run
// concurrently. The zero value is empty.
type Table struct {
	// entries have a hash in the upper half and a position plus one in the lower; 0 is unused. They are in order of
	// their hashes, each where its search begins or behind others without a gap.
	entries []uint64
	homes   int // of entries: where searches begin; what is behind others at the end follows
	count   int
	// parts of a large table, which has no entries itself, by the upper bits of the hash. They have the bits below.
	// Each grows by itself: nobody waits for a million entries to be copied, and the old ones are no garbage at once.
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
		return newPart(size)
	}
	each := size>>partBits + size>>(partBits+4) // hashes are not spread evenly
	t := &Table{parts: new([1 << partBits]Table)}
	for i := range t.parts {
		t.parts[i] = *newPart(each)
	}
	return t
}

// newPart is NewTable for any size.
func newPart(size int) *Table {
	const behind = 8 // more are seldom needed
	homes := homesFor(size)
	return &Table{entries: make([]uint64, homes+behind), homes: homes}
}

// homesFor is how many homes a Table of so many positions has: four in five are used at most.
func homesFor(size int) int { return size + size/4 + 1 }

// clone returns a copy.
func (t *Table) clone() *Table {
	c := &Table{entries: slices.Clone(t.entries), homes: t.homes, count: t.count}
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
	t.FindOrAdd(hash, position, func(uint32) bool { return false })
}

// FindOrAdd returns the position with a hash that is meant. If there is none, it adds another one and returns that.
func (t *Table) FindOrAdd(hash, other uint32, meant func(position uint32) bool) (position uint32, found bool) {
	e, found := t.findOrAdd(hash, other, meant)
	return positionOf(*e), found
}

// Put adds a position, in place of the one with the same hash that is meant, if there is one.
func (t *Table) Put(hash, position uint32, meant func(position uint32) bool) {
	if e, found := t.findOrAdd(hash, position, meant); found {
		*e += uint64(position) - uint64(positionOf(*e))
	}
}

// findOrAdd returns the entry of a hash and the position that is meant, or that of another, which it adds. It is valid
// until the next change.
func (t *Table) findOrAdd(hash, other uint32, meant func(position uint32) bool) (e *uint64, found bool) {
	if t.parts == nil && t.count == large {
		t.divide()
	}
	if t.parts != nil {
		part, below := t.part(hash)
		if e, found = part.findOrAdd(below, other, meant); !found {
			t.count++
		}
		return e, found
	}
	if homesFor(t.count+1) > t.homes {
		t.grow()
	}
	at, found := t.find(hash, meant)
	if !found {
		t.insert(at, entryOf(hash, other))
		t.count++
	}
	return &t.entries[at], found
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
	end := hole + 1
	for end < len(t.entries) && t.entries[end] != 0 && t.home(t.entries[end]) < end {
		end++
	}
	copy(t.entries[hole:], t.entries[hole+1:end]) // each is still where its search finds it
	t.entries[end-1] = 0
	return true
}

// find returns which entry is that of a hash and the position that is meant, or before which one it would be.
func (t *Table) find(hash uint32, meant func(position uint32) bool) (at int, found bool) {
	if len(t.entries) == 0 {
		return 0, false
	}
	for at = t.home(entryOf(hash, 0)); at < len(t.entries) && t.entries[at] != 0; at++ {
		e := t.entries[at]
		if uint32(e>>32) > hash {
			break
		}
		if uint32(e>>32) == hash && meant(positionOf(e)) {
			return at, true
		}
	}
	return at, false
}

// insert puts an entry before another.
func (t *Table) insert(at int, entry uint64) {
	end := at
	for end < len(t.entries) && t.entries[end] != 0 {
		end++
	}
	if end == len(t.entries) {
		t.entries = append(t.entries, 0)
	}
	copy(t.entries[at+1:], t.entries[at:end])
	t.entries[at] = entry
}

// grow makes room for half as many positions again, of many for a quarter.
func (t *Table) grow() {
	more := t.count/2 + 8
	if t.count > many {
		more = t.count / 4
	}
	larger, next := newPart(t.count+more), 0
	for _, e := range t.entries {
		if e != 0 {
			next = max(next, larger.home(e))
			larger.insert(next, e)
			next++
		}
	}
	t.entries, t.homes = larger.entries, larger.homes
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
	t.parts, t.entries, t.homes = parts, nil, 0
}

func entryOf(hash, position uint32) uint64 { return uint64(hash)<<32 | uint64(position) + 1 }

func positionOf(entry uint64) uint32 { return uint32(entry) - 1 }

// home is where a search for an entry begins: in proportion to its hash.
func (t *Table) home(entry uint64) int { return int(entry >> 32 * uint64(t.homes) >> 32) }
