package idmap_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/idmap"
)

// A Map does what a map of strings does, whatever is added and removed.
func TestLikeMap(t *testing.T) {
	const steps, ids = 20_000, 700
	random := rand.New(rand.NewPCG(1, 2))
	memories := make([]*memory.Memory, ids)
	want, got := map[string]uint32{}, idmap.New(0)
	compare := func(step int) {
		t.Helper()
		if got.Len() != len(want) {
			t.Fatalf("step %d: Len is %d, want %d", step, got.Len(), len(want))
		}
		for i := range ids {
			id := fmt.Sprint(i)
			position, found := got.Find(id, memories)
			if wantPosition, known := want[id]; found != known || position != wantPosition {
				t.Fatalf("step %d: %s is at %d, %v; want %d, %v", step, id, position, found, wantPosition, known)
			}
		}
	}
	for step := range steps {
		position := random.IntN(ids)
		id := fmt.Sprint((position*13 + 5) % ids)
		if _, known := want[id]; known {
			got.Remove(id, memories)
			memories[position] = nil
			delete(want, id)
		} else {
			if at, found := got.FindOrAdd(id, uint32(position), memories); found || at != uint32(position) {
				t.Fatalf("step %d: %s is added at %d, %v; want %d", step, id, at, found, position)
			}
			memories[position] = &memory.Memory{ID: id}
			want[id] = uint32(position)
		}
		if step%500 == 0 {
			got = got.Clone() // changes of the copy must not need the original
			compare(step)
		}
	}
	compare(steps)
	for id := range want {
		got.Remove(id, memories)
		got.Remove(id, memories) // unknown now, which is ignored
	}
	if got.Len() != 0 {
		t.Errorf("%d ids are left", got.Len())
	}
}

// A Table finds each of many positions, of which most have the hash of others.
func TestTable(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	want, got := map[uint32]uint32{}, idmap.Table{}
	for step := range 20_000 {
		position := uint32(random.IntN(300))
		meant := func(at uint32) bool { return at == position }
		if hash, known := want[position]; known {
			if at, found := got.Find(hash, meant); !found || at != position {
				t.Fatalf("step %d: %d is found at %d, %v", step, position, at, found)
			}
			got.Remove(hash, meant)
			delete(want, position)
		} else {
			want[position] = uint32(random.IntN(40)) << (27 * random.IntN(2))
			got.Add(want[position], position)
		}
		if _, found := got.Find(uint32(random.IntN(40)), func(uint32) bool { return false }); found {
			t.Fatalf("step %d: found what is not meant", step)
		}
	}
}

// A large Table finds what it has, and its clone what that has, while it grows out of a small one and shrinks again.
func TestLargeTable(t *testing.T) {
	const count = 200_000
	hash := func(position uint32) uint32 { return position * 2654435761 }
	for _, size := range []int{0, count} {
		table := idmap.NewTable(size)
		check := func(table *idmap.Table, from, to uint32) {
			t.Helper()
			for position := range uint32(count) {
				at, found := table.Find(hash(position), func(at uint32) bool { return at == position })
				if want := position >= from && position < to; found != want || found && at != position {
					t.Fatalf("%d is found at %d, %v; want %v", position, at, found, want)
				}
			}
		}
		for position := range uint32(count) {
			table.Add(hash(position), position)
		}
		check(table, 0, count)
		clone := table.Clone()
		for position := range uint32(count / 2) {
			for range 2 { // the second is ignored
				table.Remove(hash(position), func(at uint32) bool { return at == position })
			}
		}
		check(table, count/2, count)
		check(clone, 0, count)
	}
}

// No addition to a large Table copies all of it: that would be garbage of its size, and a pause. Neither has a Table
// much room that is unused.
func TestLargeTableGrows(t *testing.T) {
	const count, room = 1_000_000, 13 << 20
	table := idmap.NewTable(count)
	before := allocated()
	for position := range uint32(count) {
		table.Add(position*2654435761, position)
	}
	for position := uint32(count); position < count+1000; position++ {
		table.Add(position*2654435761, position)
	}
	if got := allocated() - before; got > 1<<20 {
		t.Errorf("%d bytes were allocated for positions that had room, and 1,000 more", got)
	}
	if got := table.Room() * 8; got > room {
		t.Errorf("it takes %d bytes, want %d at most", got, room)
	}
}

// allocated is how many bytes were allocated since the start.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// Put replaces the position of the same thing, which has the same hash.
func TestPut(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	things, newest, got := make([]uint32, 3000), map[uint32]uint32{}, idmap.Table{}
	for position := range things {
		thing := uint32(random.IntN(200))
		same := func(at uint32) bool { return things[at] == thing }
		if at, found := got.Find(thing%50, same); found != (newest[thing] > 0) || found && at != newest[thing]-1 {
			t.Fatalf("%d is found at %d, %v; want %d", thing, at, found, newest[thing])
		}
		things[position], newest[thing] = thing, uint32(position)+1
		got.Put(thing%50, uint32(position), same)
	}
	for thing, at := range newest {
		got.Remove(thing%50, func(position uint32) bool { return position == at-1 })
		if _, found := got.Find(thing%50, func(position uint32) bool { return things[position] == thing }); found {
			t.Errorf("%d is there twice", thing)
		}
	}
}

// A clone and its original do not see each other's changes.
func TestClone(t *testing.T) {
	memories := []*memory.Memory{{ID: "a"}, {ID: "b"}}
	original := idmap.New(2)
	original.Add("a", 0)
	clone := original.Clone()
	clone.Add("b", 1)
	clone.Remove("a", memories)
	if _, found := original.Find("a", memories); !found {
		t.Error("the original lost what the clone removed")
	}
	if _, found := original.Find("b", memories); found {
		t.Error("the original has what the clone added")
	}
}

func BenchmarkFind(b *testing.B) {
	const n = 100_000
	memories := make([]*memory.Memory, n)
	m, plain := idmap.New(n), make(map[string]uint32, n)
	for i := range memories {
		memories[i] = &memory.Memory{ID: fmt.Sprintf("01985f6e-8b1c-7e6a-9d33-%012x", i*7919)}
		m.Add(memories[i].ID, uint32(i))
		plain[memories[i].ID] = uint32(i)
	}
	b.Run("idmap", func(b *testing.B) {
		for i := range b.N {
			if _, found := m.Find(memories[i*7919%n].ID, memories); !found {
				b.Fatal("not found")
			}
		}
	})
	b.Run("map of strings", func(b *testing.B) {
		for i := range b.N {
			if _, found := plain[memories[i*7919%n].ID]; !found {
				b.Fatal("not found")
			}
		}
	})
}
