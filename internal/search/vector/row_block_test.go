package vector

import "testing"

// TestClearedLeavesNothing: what is unused of a block is zero, whatever moved there.
func TestClearedLeavesNothing(t *testing.T) {
	var b rowBlock
	q, _ := Quantize([]float32{1, 2, 3})
	for n := range RowsPerBlock {
		b.set((n*7)%RowsPerBlock, q)
	}
	for n := range RowsPerBlock {
		if n != 100 {
			b.clear(n, len(q.codes))
		}
	}
	for i, c := range b.codes[len(q.codes):] {
		if c != 0 {
			t.Fatalf("byte %d behind the only row is %d", i, c)
		}
	}
	if len(b.inverseNorms) != 1 || !b.has(100) || b.row(100, len(q.codes))[2] != 127 {
		t.Errorf("%d rows are left", len(b.inverseNorms))
	}
}
