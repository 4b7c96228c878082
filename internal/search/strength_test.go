package search_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/search"
)

// TestGradeHits checks what the strength of a hit depends on: its own evidence, and how many are as good.
func TestGradeHits(t *testing.T) {
	for _, tt := range []struct {
		name     string
		evidence []float64
		minilm   bool
		want     []search.Strength
	}{
		{"no candidates", nil, false, nil},
		{"one that is near", []float64{1.6}, false, []search.Strength{search.Strong}},
		{"one that is hardly near, and nothing is better", []float64{0.25}, false, []search.Strength{search.Weak}},
		{"evidence of two models has to be greater", []float64{0.6}, true, []search.Strength{search.Weak}},
		{"many that are equally near", []float64{1.6, 1.6, 1.6, 1.6, 1.6, 1.6}, false, []search.Strength{
			search.Fair, search.Fair, search.Fair, search.Fair, search.Fair, search.Fair}},
		{"far behind the best", []float64{2.4, 1.6}, true, []search.Strength{search.Strong, search.Weak}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			probabilities, got := search.GradeHits(tt.evidence, tt.minilm)
			for i := range tt.want {
				if got[i] != tt.want[i] {
					t.Errorf("evidence %v is %s (%.2f), want %s", tt.evidence[i], got[i], probabilities[i], tt.want[i])
				}
			}
		})
	}
}

// TestGradeIgnoresTheRest shows that the eleventh candidate and those behind it change nothing: the limit of a request
// and the size of a store do not matter.
func TestGradeIgnoresTheRest(t *testing.T) {
	ten := []float64{2, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4, 1.3, 1.2, 1.1}
	want, _ := search.GradeHits(ten, true)
	got, _ := search.GradeHits(append(ten, 1.05, 1, 0.9, 0.9, 0.9, 0.9), true)
	if got[0] != want[0] || want[0] <= want[1] {
		t.Errorf("the best of ten has %v, then %v; among more %v", want[0], want[1], got[0])
	}
}
