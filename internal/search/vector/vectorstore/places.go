package vectorstore

import (
	"encoding/binary"
	"math/bits"

	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// places finds records by the keys of their texts, in 19 to 24 bytes each. It has the first half of a key: two texts of
// which that is the same, which takes thousands of millions of texts, replace each other.
//
// It is a hash table with open addressing and linear probing. The zero value is empty.
type places struct {
	// entries are in order of their hashes, up to those that wrap around at the end: growing writes them in sequence.
	entries []entry
	count   int
}

// entry is a text and its place; zero when unused.
type entry struct {
	hash  uint64 // the first half of the key, which is one of SHA-256 already
	place place
}

// place is where a record lies: its offset in the file, and in the lower bits its size. It is not 0, because the file
// begins with a header.
type place uint64

const (
	sizeBits = 24
	maxSize  = 1<<sizeBits - 1      // of a record, more than vector.MaxDim and maxSetSize make
	maxEnd   = 1 << (64 - sizeBits) // of a file
	growth   = 4                    // a table grows by one in so many,
	fill     = 5                    // when all but one in so many are used
	leastLen = 8
)

func placeAt(offset, size int64) place { return place(offset<<sizeBits | size) }

func (p place) offset() int64 { return int64(p >> sizeBits) }

func (p place) size() int64 { return int64(p & maxSize) }

func hashOf(key vector.Key) uint64 { return binary.BigEndian.Uint64(key[:8]) }

// get returns the place of the text's record.
func (t *places) get(key vector.Key) (p place, ok bool) {
	at, ok := t.find(hashOf(key))
	if !ok {
		return 0, false
	}
	return t.entries[at].place, true
}

// set sets the place of the text's record. known says that it had one.
func (t *places) set(key vector.Key, p place) (known bool) {
	e := entry{hashOf(key), p}
	if at, ok := t.find(e.hash); ok {
		t.entries[at] = e
		return true
	}
	if t.count >= len(t.entries)-len(t.entries)/fill-1 {
		t.grow()
	}
	t.insert(e)
	t.count++
	return false
}

// remove removes the entry at a position.
func (t *places) remove(hole int) {
	t.count--
	// Entries behind the hole move into it, unless that is before where a search for them begins.
	for at := t.after(hole); t.entries[at].place != 0; at = t.after(at) {
		if t.distance(t.home(t.entries[at].hash), at) >= t.distance(hole, at) {
			t.entries[hole] = t.entries[at]
			hole = at
		}
	}
	t.entries[hole] = entry{}
}

// find returns which entry is that of a hash.
func (t *places) find(hash uint64) (at int, ok bool) {
	if t.count == 0 {
		return 0, false
	}
	for at = t.home(hash); t.entries[at].place != 0; at = t.after(at) {
		if t.entries[at].hash == hash {
			return at, true
		}
	}
	return 0, false
}

// insert puts an entry into the first unused position from where a search for it begins.
func (t *places) insert(e entry) {
	at := t.home(e.hash)
	for t.entries[at].place != 0 {
		at = t.after(at)
	}
	t.entries[at] = e
}

func (t *places) grow() {
	old := t.entries
	t.entries = make([]entry, len(old)+len(old)/growth+leastLen)
	for _, e := range old {
		if e.place != 0 {
			t.insert(e)
		}
	}
}

// home is where a search for a hash begins: in proportion to it.
func (t *places) home(hash uint64) int {
	at, _ := bits.Mul64(hash, uint64(len(t.entries)))
	return int(at)
}

// after is the position after another, around the end.
func (t *places) after(at int) int {
	if at++; at < len(t.entries) {
		return at
	}
	return 0
}

// distance is how many steps lead from one position to another, around the end.
func (t *places) distance(from, to int) int {
	if to >= from {
		return to - from
	}
	return to - from + len(t.entries)
}
