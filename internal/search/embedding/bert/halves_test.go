package bert_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/embedding/bert"
)

// TestHalves: a query has the same bits whether a second goroutine helps or not, also one that is too short or too long
// for that.
func TestHalves(t *testing.T) {
	perModel(t, func(t *testing.T, e *bert.Encoder, _ []example) {
		for _, words := range []int{1, 2, 3, 5, 8, 13, 40, 60, 90} {
			text := strings.Join(strings.Fields(strings.Repeat("what did we decide about the retries ", 20))[:words], " ")
			want, err := e.Forward(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			for _, help := range []bool{false, true} {
				if got, err := e.Halves(t.Context(), text, help); err != nil || !slices.Equal(got, want) {
					t.Errorf("%d words, with help %v: another vector, %v", words, help, err)
				}
			}
		}
	})
}

func TestHalvesCancelled(t *testing.T) {
	perModel(t, func(t *testing.T, e *bert.Encoder, _ []example) {
		for left := range 4 {
			if _, err := e.Halves(&ending{t.Context(), left}, "what did we decide", true); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled after %d layers: %v", left, err)
			}
		}
	})
}
