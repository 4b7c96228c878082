package search

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// TestDictionaryLikeMap: a dictionary does what a map does, also with the terms of a file, and its ids stay dense.
func TestDictionaryLikeMap(t *testing.T) {
	const steps, terms = 20_000, 500
	random := rand.New(rand.NewPCG(1, 2))
	want, got := map[string]uint32{}, newFileDictionary(30, "")
	for term := range 30 {
		got.text += fmt.Sprint(term)
	}
	for term := range uint32(30) {
		want[fmt.Sprint(term)] = term
		if !got.addNext(len(fmt.Sprint(term))) {
			t.Fatalf("%d of the file is not added", term)
		}
	}
	for step := range steps {
		term := fmt.Sprint(random.IntN(terms))
		id, known := got.find(term)
		if wantID, wantKnown := want[term]; known != wantKnown || known && id != wantID {
			t.Fatalf("step %d: %s is %d, %v; want %d, %v", step, term, id, known, wantID, wantKnown)
		}
		if known {
			got.remove(id)
			delete(want, term)
		} else {
			want[term] = got.add(term)
		}
	}
	found := map[string]uint32{}
	for id, term := range got.all() {
		found[term] = id
	}
	if !maps.Equal(found, want) || got.len() != len(want) || got.size() > terms {
		t.Errorf("%d terms and %d ids, want %d terms", got.len(), got.size(), len(want))
	}
}
