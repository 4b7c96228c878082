package offheap_test

import (
	"runtime"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/vector/offheap"
)

// TestNew writes to memory all over, while others are given back.
func TestNew(t *testing.T) {
	for size := 1; size < 1<<20; size = size*3 + 1 {
		m := offheap.New(size)
		if len(m.Codes) != size {
			t.Fatalf("%d bytes, want %d", len(m.Codes), size)
		}
		for i, c := range m.Codes {
			if c != 0 {
				t.Fatalf("byte %d is %d", i, c)
			}
			m.Codes[i] = int8(i)
		}
		runtime.GC()
		if last := m.Codes[size-1]; last != int8(size-1) {
			t.Errorf("the last byte is %d", last)
		}
		runtime.KeepAlive(m)
	}
}
