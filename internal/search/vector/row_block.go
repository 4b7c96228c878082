package vector

import "runtime"

// rowBlock is the codes of up to rowsPerBlock rows. A whole block lies outside of the heap, where it makes the collector
// run no more often; a smaller one, of a small space, is not worth a mapping.
type rowBlock struct {
	codes  []int8
	mapped *mapping // of a whole block; nil in the heap
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
	if room >= rowsPerBlock {
		grown.mapped = newMapping(rowsPerBlock * width)
	}
	if grown.mapped != nil {
		grown.codes = grown.mapped.codes
	} else {
		grown.codes = make([]int8, room*width)
	}
	copy(grown.codes, b.codes)
	clear(b.codes) // so that a purged text leaves nothing in what was outgrown
	*b = grown
}

// mapping is memory outside of the heap, zero at first. It ends when the mapping is not reachable any more, so who uses
// the codes must keep it alive.
type mapping struct{ codes []int8 }

// newMapping returns a mapping of so many bytes; nil when the system gives none.
func newMapping(size int) *mapping {
	codes, release := mapMemory(size)
	if codes == nil {
		return nil
	}
	m := &mapping{codes}
	runtime.AddCleanup(m, func(codes []int8) { release(codes) }, codes)
	return m
}
