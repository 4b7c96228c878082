package publish_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/publish"
)

// TestAtLeisure: what is written at leisure is what was given, and of megabytes others have the processor in between.
func TestAtLeisure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			size  int
			rests bool
		}{{32 << 10, false}, {8 << 20, true}} {
			want := bytes.Repeat([]byte("memories"), tt.size/8)
			var got bytes.Buffer
			w, began := publish.AtLeisure(&got), time.Now()
			for part := range bytes.SplitAfterSeq(want, []byte("s")) {
				if n, err := w.Write(part); n != len(part) || err != nil {
					t.Fatalf("wrote %d of %d bytes: %v", n, len(part), err)
				}
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%d bytes are not what was written", tt.size)
			}
			if rested := time.Since(began); rested > 0 != tt.rests {
				t.Errorf("rested for %v while it wrote %d bytes", rested, tt.size)
			}
		}
	})
}
