package vector_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/vector"
)

func TestRecent(t *testing.T) {
	d, _ := vector.Quantise([]float32{1, 2})
	r := vector.NewRecent(2)
	one, two, three := vector.KeyOf("one"), vector.KeyOf("two"), vector.KeyOf("three")
	r.Put(one, d)
	r.Put(two, d)
	r.Get(one)
	r.Put(one, d)
	r.Put(three, d) // two was not used for the longest time
	for name, want := range map[vector.Key]bool{one: true, two: false, three: true} {
		got, known := r.Get(name)
		if known != want || known && got.Cosine(d) != d.Cosine(d) {
			t.Errorf("%v is kept: %v, want %v", name, known, want)
		}
	}
	r.Forget()
	if _, known := r.Get(one); known {
		t.Error("not forgotten")
	}
}
