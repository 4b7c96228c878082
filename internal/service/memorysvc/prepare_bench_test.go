package memorysvc

import (
	"fmt"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// BenchmarkPrepare checks and redacts a batch of 100 short memories, other ones each time.
func BenchmarkPrepare(b *testing.B) {
	latest, n := time.Now(), 0
	for b.Loop() {
		drafts := make([]Draft, 100)
		for i := range drafts {
			n++
			drafts[i].Memory = &memory.Memory{Tags: []string{"bench"}, Category: memory.Facts,
				Content: fmt.Sprintf("The build of harbour%d needs the tunnel to be open before migrations run; "+
					"noted as item %d.", n%997, n)}
		}
		if _, err := prepareAll(drafts, latest); err != nil {
			b.Fatal(err)
		}
	}
}
