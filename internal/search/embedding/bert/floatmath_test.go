package bert_test

import (
	"math"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/embedding/bert"
)

func TestExp(t *testing.T) {
	worst := 0.0
	for i := range 1 << 20 {
		x := -float32(i) * (87.0 / (1 << 20))
		want := math.Exp(float64(x))
		worst = max(worst, math.Abs(float64(bert.Exp(x))-want)/want)
	}
	if !(worst < 2e-7) {
		t.Errorf("relative error %g", worst)
	}
	for _, x := range []float32{-88, -1e30, float32(math.Inf(-1))} {
		if got := bert.Exp(x); got != 0 {
			t.Errorf("exp(%g) is %g", x, got)
		}
	}
}

func TestGELU(t *testing.T) {
	gelu, worst := bert.NewGELU(), 0.0
	for i := range 1 << 20 {
		x := float32(i-1<<19) * (20.0 / (1 << 20))
		want := float64(x) / 2 * (1 + math.Erf(float64(x)/math.Sqrt2))
		worst = max(worst, math.Abs(float64(gelu(x))-want)/max(1, math.Abs(want)))
	}
	if !(worst < 2e-7) {
		t.Errorf("error %g", worst)
	}
	if got := gelu(float32(math.NaN())); got != 0 {
		t.Errorf("of what is no number: %g", got)
	}
}
