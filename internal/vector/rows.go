package vector

import (
	"slices"

	"github.com/memsidecar/memsidecar/internal/kernel"
)

// perBlock is the number of rows that are allocated together: what is there never moves when more comes.
const perBlock = 512

// Rows are directions of the same dimension, by small numbers. The zero value is empty and takes the dimension of the first
// row. Writing needs exclusion; reading does not.
type Rows struct {
	dim     int
	held    int
	blocks  [][]int8
	inverse []float64 // by number; 0 where there is no row
}

// Dim is the dimension of the rows, 0 before the first.
func (r *Rows) Dim() int { return r.dim }

// Len is how many rows there are.
func (r *Rows) Len() int { return r.held }

// Has reports whether there is a row n.
func (r *Rows) Has(n int) bool { return n < len(r.inverse) && r.inverse[n] != 0 }

// Set makes d row n. It reports false, and changes nothing, when d is of another dimension.
func (r *Rows) Set(n int, d Direction) bool {
	if d.dim == 0 || r.dim != 0 && r.dim != d.dim {
		return false
	}
	r.dim = d.dim
	for len(r.inverse) <= n {
		r.inverse = append(r.inverse, 0)
	}
	for len(r.blocks) <= n/perBlock {
		r.blocks = append(r.blocks, nil)
	}
	if r.blocks[n/perBlock] == nil {
		r.blocks[n/perBlock] = make([]int8, perBlock*stride(r.dim))
	}
	copy(r.row(n), d.codes)
	if r.inverse[n] == 0 {
		r.held++
	}
	r.inverse[n] = d.inverse
	return true
}

// Clear removes row n, and what it held from memory.
func (r *Rows) Clear(n int) {
	if r.Has(n) {
		clear(r.row(n))
		r.inverse[n] = 0
		r.held--
	}
}

// row n, padded; its block exists.
func (r *Rows) row(n int) []int8 {
	s := stride(r.dim)
	at := n % perBlock * s
	return r.blocks[n/perBlock][at : at+s]
}

// Codes of row n, which exists, without padding. They must not be changed.
func (r *Rows) Codes(n int) []int8 { return r.row(n)[:r.dim] }

// Direction of row n; false when there is none.
func (r *Rows) Direction(n int) (Direction, bool) {
	if !r.Has(n) {
		return Direction{}, false
	}
	return direction(r.dim, slices.Clone(r.row(n)))
}

// Cosines calls yield with the number of each row, ascending, and its cosine with q. There are none when the dimensions differ.
// 100,000 rows of 384 dimensions take some 3 ms with AVX2.
func (r *Rows) Cosines(q Direction, yield func(n int, cosine float64)) {
	if q.dim != r.dim || r.dim == 0 {
		return
	}
	var sums [perBlock]int32
	for b, block := range r.blocks {
		first := b * perBlock
		if block == nil || first >= len(r.inverse) {
			continue
		}
		inverse := r.inverse[first:min(first+perBlock, len(r.inverse))]
		kernel.Dots(sums[:len(inverse)], q.codes, block[:len(inverse)*len(q.codes)])
		for i, inv := range inverse {
			if inv != 0 {
				yield(first+i, cosine(sums[i], q.inverse, inv))
			}
		}
	}
}
