//go:build unix

package offheap

import (
	"syscall"
	"unsafe"
)

// mapMemory maps memory that no file backs, and returns what unmaps it; nil when the system gives none.
func mapMemory(size int) (codes []int8, release func([]int8)) {
	data, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil
	}
	codes = unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(data))), len(data))
	return codes, func(codes []int8) {
		_ = syscall.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(codes))), len(codes)))
	}
}
