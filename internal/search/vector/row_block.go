package vector

import (
	"math/bits"
	"slices"

	"github.com/memsidecar/memsidecar/internal/search/vector/offheap"
)

// rowBlock is up to RowsPerBlock rows, addressed by numbers below that. Those that are there lie next to each other, in
// order of their numbers: a text that a model does not take has no row, and there may be many of those. A whole block
// lies outside of the heap, where it makes the collector run no more often; a smaller one, of a small space, is not
// worth a mapping.
type rowBlock struct {
	present      [RowsPerBlock / 64]uint64 // a bit for each number
	inverseNorms []float64                 // of the rows that are there, which may be fewer than have room
	codes        []int8                    // the room for rows, padded; what is unused of it is zero
	mapped       *offheap.Memory           // of a whole block; nil in the heap
}

// has reports whether there is a row with number n.
func (b *rowBlock) has(n int) bool { return b.present[n/64]&(1<<(n%64)) != 0 }

// before is the number of rows before number n.
func (b *rowBlock) before(n int) (count int) {
	for _, word := range b.present[:n/64] {
		count += bits.OnesCount64(word)
	}
	return count + bits.OnesCount64(b.present[n/64]&(1<<(n%64)-1))
}

// row returns the padded codes of the row with number n, which is there.
func (b *rowBlock) row(n, width int) []int8 {
	at := b.before(n) * width
	return b.codes[at : at+width]
}

// set sets the row with number n.
func (b *rowBlock) set(n int, q Quantized) {
	width, at := len(q.codes), b.before(n)
	if b.has(n) {
		b.inverseNorms[at] = q.inverseNorm
	} else {
		b.grow(len(b.inverseNorms)+1, width)
		copy(b.codes[(at+1)*width:], b.codes[at*width:len(b.inverseNorms)*width])
		b.inverseNorms = slices.Insert(b.inverseNorms, at, q.inverseNorm)
		b.present[n/64] |= 1 << (n % 64)
	}
	copy(b.codes[at*width:], q.codes)
}

// clear removes the row with number n, which is there, and leaves nothing of it.
func (b *rowBlock) clear(n, width int) {
	at, end := b.before(n), len(b.inverseNorms)*width
	copy(b.codes[at*width:], b.codes[(at+1)*width:end])
	clear(b.codes[end-width : end])
	b.inverseNorms = slices.Delete(b.inverseNorms, at, at+1)
	b.present[n/64] &^= 1 << (n % 64)
}

// grow makes room for so many rows of a width.
func (b *rowBlock) grow(rows, width int) {
	if rows*width <= len(b.codes) {
		return
	}
	room := firstRows
	for room < rows {
		room *= 2
	}
	old := b.codes
	b.mapped = nil
	if room >= RowsPerBlock { // what is not written of a mapping takes no memory
		b.mapped = offheap.New(RowsPerBlock * width)
		b.codes = b.mapped.Codes
	} else {
		b.codes = make([]int8, room*width)
	}
	copy(b.codes, old)
	clear(old) // so that a purged text leaves nothing in what was outgrown
}
