//go:build !unix

package vector

// mapMemory maps nothing here: vectors stay in the heap.
func mapMemory(int) (codes []int8, release func([]int8)) { return nil, nil }
