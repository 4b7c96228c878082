//go:build !unix

package offheap

// mapMemory maps nothing here: memory is in the heap.
func mapMemory(int) (codes []int8, release func([]int8)) { return nil, nil }
