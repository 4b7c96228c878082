package bert

import (
	"context"
	"time"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
)

// stepAside is how long work in the background waits after each matrix while requests are answered. A matrix takes half
// a millisecond, so such work gets a tenth of one processor then. Low priority alone does not do: a thread that waits
// for its turn keeps its share of Go's scheduler, which on two processors is half of what requests have.
const stepAside = 5 * time.Millisecond

// pace is called between two matrices. It returns the error of ctx.
type pace func(ctx context.Context) error

// atOnce is the pace of queries, for which somebody waits.
func atOnce(ctx context.Context) error { return ctx.Err() }

// steppingAside returns the pace of what is computed in the background.
func steppingAside(b embedding.Background) pace {
	return func(ctx context.Context) error {
		if b.Busy() {
			timer := time.NewTimer(stepAside)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-b.Urgent():
			case <-ctx.Done():
			}
		}
		return ctx.Err()
	}
}
