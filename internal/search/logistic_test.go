package search

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const (
	fitIterations = 50
	fitTolerance  = 1e-9 // a fit ends when no coefficient changes more
)

// TestFitLogistic finds the regression by which labels were drawn.
func TestFitLogistic(t *testing.T) {
	want := regression{-0.5, []float64{2, -3}}
	r := rand.New(rand.NewPCG(1, 2))
	var x [][]float64
	var y, w []float64
	for range 20_000 {
		row := []float64{r.NormFloat64(), 0.5 * r.NormFloat64()}
		label := 0.0
		if r.Float64() < 1/(1+math.Exp(-want.logit(row))) {
			label = 1
		}
		x, y, w = append(x, row), append(y, label), append(w, 1)
	}
	got := fitLogistic(x, y, w, 0)
	for i, v := range append([]float64{want.intercept}, want.weights...) {
		if g := append([]float64{got.intercept}, got.weights...)[i]; math.Abs(g-v) > 0.15 {
			t.Errorf("coefficient %d is %.3f, want about %g", i, g, v)
		}
	}
}

// fitLogistic is the logistic regression of y, 0 or 1, by x with weights, by Newton's method on standardised features.
// ridge is the penalty of a coefficient, as a share of the weights' sum.
func fitLogistic(x [][]float64, y, weights []float64, ridge float64) regression {
	n := len(x[0])
	z, mean, deviation := standardise(x)
	total := 0.0
	for _, w := range weights {
		total += w
	}
	b := make([]float64, n+1)
	for range fitIterations {
		gradient, hessian := make([]float64, n+1), make([][]float64, n+1)
		for j := range hessian {
			hessian[j] = make([]float64, n+1)
			if j > 0 {
				gradient[j] -= ridge * total * b[j]
				hessian[j][j] = ridge * total
			}
		}
		for i, row := range z {
			p := 0.0
			for j, v := range row {
				p += b[j] * v
			}
			p = 1 / (1 + math.Exp(-p))
			for j, v := range row {
				gradient[j] += weights[i] * (y[i] - p) * v
				slope := weights[i] * p * (1 - p) * v
				for k := range j + 1 {
					hessian[j][k] += slope * row[k]
				}
			}
		}
		step := solve(hessian, gradient)
		greatest := 0.0
		for j := range b {
			b[j] += step[j]
			greatest = max(greatest, math.Abs(step[j]))
		}
		if greatest < fitTolerance {
			break
		}
	}
	out := regression{intercept: b[0], weights: make([]float64, n)}
	for j := range n {
		out.weights[j] = b[j+1] / deviation[j]
		out.intercept -= out.weights[j] * mean[j]
	}
	return out
}

// standardise returns rows that begin with 1, and features of mean 0 and deviation 1.
func standardise(x [][]float64) (z [][]float64, mean, deviation []float64) {
	n := len(x[0])
	mean, deviation = make([]float64, n), make([]float64, n)
	for _, row := range x {
		for j, v := range row {
			mean[j] += v / float64(len(x))
		}
	}
	for _, row := range x {
		for j, v := range row {
			deviation[j] += (v - mean[j]) * (v - mean[j]) / float64(len(x))
		}
	}
	for j := range deviation {
		deviation[j] = math.Sqrt(deviation[j]) + 1e-9
	}
	for _, row := range x {
		out := []float64{1}
		for j, v := range row {
			out = append(out, (v-mean[j])/deviation[j])
		}
		z = append(z, out)
	}
	return z, mean, deviation
}

// solve returns a⁻¹ b for a symmetric positive definite matrix, given by its lower half, which it overwrites with its
// Cholesky factor.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	for j := range n {
		for k := range j + 1 {
			sum := a[j][k]
			for l := range k {
				sum -= a[j][l] * a[k][l]
			}
			if j == k {
				a[j][j] = math.Sqrt(max(sum, 1e-12))
			} else {
				a[j][k] = sum / a[k][k]
			}
		}
	}
	x := slices.Clone(b)
	for j := range n {
		for l := range j {
			x[j] -= a[j][l] * x[l]
		}
		x[j] /= a[j][j]
	}
	for j := n - 1; j >= 0; j-- {
		for l := j + 1; l < n; l++ {
			x[j] -= a[l][j] * x[l]
		}
		x[j] /= a[j][j]
	}
	return x
}
