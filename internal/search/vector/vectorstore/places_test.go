package vectorstore

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// TestPlacesLikeMap: places do what a map does, whatever is set and removed, also with keys that lie close together
// and around the end of the table.
func TestPlacesLikeMap(t *testing.T) {
	const steps, keys = 30_000, 900
	random := rand.New(rand.NewPCG(1, 2))
	keyOf := func(n int) (k vector.Key) {
		hash := vector.KeyOf(string(rune(n)))
		copy(k[:], hash[:])
		if n%3 == 0 { // one cluster, at the end
			binary.BigEndian.PutUint64(k[:], ^uint64(n))
		}
		return k
	}
	want, got := map[int]place{}, places{}
	compare := func(step int) {
		t.Helper()
		if got.count != len(want) {
			t.Fatalf("step %d: %d texts, want %d", step, got.count, len(want))
		}
		for n := range keys {
			p, ok := got.get(keyOf(n))
			if wantPlace, known := want[n]; ok != known || p != wantPlace {
				t.Fatalf("step %d: %d is at %d, %v; want %d, %v", step, n, p, ok, wantPlace, known)
			}
		}
	}
	for step := range steps {
		n := random.IntN(keys)
		if step/3000%2 == 1 { // it shrinks now and then
			if at, ok := got.find(hashOf(keyOf(n))); ok {
				got.remove(at)
			}
			delete(want, n)
		} else {
			p := placeAt(int64(step)<<20+1, int64(n))
			if _, known := want[n]; got.set(keyOf(n), p) != known {
				t.Fatalf("step %d: whether %d was there is wrong", step, n)
			}
			want[n] = p
		}
		if step%500 == 0 {
			compare(step)
		}
	}
	compare(steps)
}

func TestPlace(t *testing.T) {
	for _, tt := range []struct{ offset, size int64 }{{1, 0}, {36, 1500}, {maxEnd - 1, maxSize}} {
		if p := placeAt(tt.offset, tt.size); p.offset() != tt.offset || p.size() != tt.size {
			t.Errorf("%+v became %d and %d", tt, p.offset(), p.size())
		}
	}
	if most := (sizes{vector.MaxDim, maxSetSize}).all(); most > maxSize {
		t.Errorf("a record may have %d bytes, and a place at most %d", most, maxSize)
	}
}
