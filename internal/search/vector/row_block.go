package vector

import "github.com/memsidecar/memsidecar/internal/search/vector/offheap"

// rowBlock is the codes of up to RowsPerBlock rows. A whole block lies outside of the heap, where it makes the
// collector run no more often; a smaller one, of a small space, is not worth a mapping.
type rowBlock struct {
	codes  []int8
	mapped *offheap.Memory // of a whole block; nil in the heap
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
	grown := rowBlock{}
	if room >= RowsPerBlock {
		grown.mapped = offheap.New(RowsPerBlock * width)
		grown.codes = grown.mapped.Codes
	} else {
		grown.codes = make([]int8, room*width)
	}
	copy(grown.codes, b.codes)
	clear(b.codes) // so that a purged text leaves nothing in what was outgrown
	*b = grown
}
