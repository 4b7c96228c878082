package search

import "sync"

// freelist keeps a few values for reuse. Unlike a sync.Pool it survives garbage collections, which matters for values
// that are large or slow to make. It is safe for concurrent use.
type freelist[T any] struct {
	make func() *T
	trim func(v *T, idle int) // shortens a value that is put beside so many idle ones; nil for no need
	mu   sync.Mutex
	idle []*T // guarded by mu
}

// maxIdle is how many values a freelist keeps.
const maxIdle = 8

func (f *freelist[T]) get() *T {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.idle)
	if n == 0 {
		return f.make()
	}
	v := f.idle[n-1]
	f.idle = f.idle[:n-1]
	return v
}

func (f *freelist[T]) put(v *T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.trim != nil {
		f.trim(v, len(f.idle))
	}
	if len(f.idle) < maxIdle {
		f.idle = append(f.idle, v)
	}
}
