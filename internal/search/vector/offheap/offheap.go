// Package offheap gives memory outside of the heap, for what is large and lives long: in the heap it would let as much
// garbage again gather before the collector runs.
package offheap

import "runtime"

// Memory is zero at first. It ends when it is not reachable any more, which its codes do not prevent: who uses them
// must keep the Memory alive, as runtime.KeepAlive does.
type Memory struct{ Codes []int8 }

// New returns memory of so many bytes, at least 1. Where the system gives none, it is the heap's.
func New(size int) *Memory {
	codes, release := mapMemory(size)
	if codes == nil {
		return &Memory{make([]int8, size)}
	}
	m := &Memory{codes}
	runtime.AddCleanup(m, release, codes)
	return m
}
