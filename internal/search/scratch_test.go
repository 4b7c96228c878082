package search_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/search"
)

// TestIdleBuffers: many searches of a large space at a time leave no buffers of hundreds of megabytes; those of a small
// one are all kept.
func TestIdleBuffers(t *testing.T) {
	for _, docs := range []int{1000, 1_000_000} {
		one, eight := search.IdleBytes(1, docs), search.IdleBytes(8, docs)
		if large := docs > 1000; eight > 2*one && large || eight != 8*one && !large {
			t.Errorf("with %d documents one search left %d bytes, eight left %d", docs, one, eight)
		}
	}
}
