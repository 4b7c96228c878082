package bert_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/process/background"
	"github.com/memsidecar/memsidecar/internal/search/embedding"
)

// TestStepsAside: what is stored waits again and again while requests are answered, unless somebody waits for it, and
// its vectors are the same.
func TestStepsAside(t *testing.T) {
	e := newMiniLM(t)
	texts := []string{"The harbour opens at noon.", "The ferry leaves at one."}
	want, err := e.EmbedDocuments(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	close(closed)
	for name, c := range map[string]struct {
		busy, urgent bool
		waits        bool
	}{"idle": {}, "busy": {busy: true, waits: true}, "busy and urgent": {busy: true, urgent: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := embedding.WithPace(t.Context(), background.Pace{
					Busy: func() bool { return c.busy },
					Urgent: func() <-chan struct{} {
						if c.urgent {
							return closed
						}
						return nil
					},
				})
				start := time.Now()
				got, err := e.EmbedDocuments(ctx, texts)
				if err != nil {
					t.Fatal(err)
				}
				// The clock of this bubble moves only while everything waits. MiniLM has 24 matrices.
				if waited := time.Since(start); waited >= 100*time.Millisecond != c.waits {
					t.Errorf("it waited %v", waited)
				}
				for i := range want {
					if got[i].Vector.Cosine(want[i].Vector) < 0.9999 || !slices.Equal(got[i].Tokens, want[i].Tokens) {
						t.Errorf("text %d has another vector", i)
					}
				}
			})
		})
	}
}
