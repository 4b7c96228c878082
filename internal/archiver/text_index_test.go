package archiver_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/archiver"
)

// TestNear: looking only where something can be found finds all that is there.
func TestNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	texts := []string{"!"}
	for range 400 {
		var words []string
		for range 1 + rng.IntN(9) {
			words = append(words, fmt.Sprint("w", rng.IntN(1+rng.IntN(20))))
		}
		texts = append(texts, strings.Join(words, " "))
	}
	for _, least := range []float64{0.3, 0.5, 0.85, 1} {
		found, all := archiver.Near(texts, least)
		if diff := cmp.Diff(all, found); diff != "" {
			t.Fatalf("at %v (-all +found):\n%s", least, diff)
		}
		pairs := 0
		for _, near := range all {
			pairs += len(near)
		}
		if pairs <= len(texts) {
			t.Errorf("at %v nothing is near to anything", least)
		}
	}
}
