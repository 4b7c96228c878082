package bert

import (
	"math"
	"sync"
)

// Functions of float32 with the same bits on every machine. A product that is added to something is converted by
// float32( ) or float64( ), which forbids the compiler to fuse the two into one rounding (Go specification,
// "Floating-point operators"). Functions of package math that have assembly for some processors are not used, except
// the square root, which IEEE 754 rounds correctly everywhere.

// roundingBias added to a float32 below 2^22 leaves the nearest integer, ties to even, in the low bits.
const (
	roundingBias     = 3 << 22
	roundingBiasBits = 0x4B400000
)

// nearest rounds x, whose magnitude must be below 2^22, to an integer.
func nearest(x float32) int32 {
	return int32(math.Float32bits(float32(x)+roundingBias)) - roundingBiasBits
}

// exp returns e^x for x ≤ 0 with an error of at most 2e-7, and 0 below −87: a polynomial after range reduction, as in
// Cephes.
func exp(x float32) float32 {
	const (
		perTwo = 1.44269504088896340736  // 1 / ln 2
		high   = 0.693359375             // upper part of ln 2; its multiples are exact
		low    = -2.12194440054690583e-4 // the rest of ln 2
	)
	if x < -87 {
		return 0
	}
	n := nearest(float32(x * perTwo))
	r := x - float32(float32(n)*high)
	r -= float32(float32(n) * low)
	p := float32(r*(1.0/5040)) + 1.0/720
	p = float32(p*r) + 1.0/120
	p = float32(p*r) + 1.0/24
	p = float32(p*r) + 1.0/6
	p = float32(p*r) + 0.5
	p = float32(p*r) + 1
	p = float32(p*r) + 1
	return p * math.Float32frombits(uint32(127+n)<<23)
}

const (
	geluLimit = 6  // beyond ±6 the distribution is 0 or 1 with an error below 1e-9
	geluSteps = 64 // nodes of the table in an interval of length 1
)

// gaussianCDF is a table of the cumulative distribution of the standard normal distribution: value, slope and half
// the curvature at each node, and a number that is not used. Between nodes the error is below 1e-7.
type gaussianCDF [2*geluLimit*geluSteps + 1][4]float32

// geluTable returns the table, which is computed once.
var geluTable = sync.OnceValue(newGaussianCDF)

func newGaussianCDF() *gaussianCDF {
	t := &gaussianCDF{}
	for i := range t {
		x := float64(i-geluLimit*geluSteps) / geluSteps
		density := expNegative(x*x/2) / math.Sqrt(2*math.Pi)
		// 1/2 + density·(x + x³/3 + x⁵/(3·5) + …): Abramowitz and Stegun, 26.2.11
		sum, term := 0.0, x
		for k := 3.0; sum+term != sum; k += 2 {
			sum += term
			term = float64(term * (x * x / k))
		}
		t[i] = [4]float32{float32(0.5 + float64(density*sum)), float32(density), float32(-x * density / 2)}
	}
	return t
}

// expNegative returns e^−y for y from 0 to 20, by the series of e^(−y/64), squared six times.
func expNegative(y float64) float64 {
	y /= -64
	sum, term := 0.0, 1.0
	for k := 1.0; sum+term != sum; k++ {
		sum += term
		term = float64(term * (y / k))
	}
	for range 6 {
		sum *= sum
	}
	return sum
}

// gelu returns x · CDF(x): Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", 2016.
func (t *gaussianCDF) gelu(x float32) float32 {
	if x >= geluLimit {
		return x
	}
	if !(x > -geluLimit) {
		return 0
	}
	n := nearest(x * geluSteps)
	node := &t[n+geluLimit*geluSteps]
	d := x - float32(float32(n)*(1.0/geluSteps))
	p := float32(d*node[2]) + node[1]
	return x * (float32(d*p) + node[0])
}

// dotFloat returns the dot product of two rows of the same length, a multiple of 4.
func dotFloat(x, y []float32) float32 {
	y = y[:len(x)]
	var a, b, c, d float32
	for i := 0; i+3 < len(x); i += 4 {
		a += float32(x[i] * y[i])
		b += float32(x[i+1] * y[i+1])
		c += float32(x[i+2] * y[i+2])
		d += float32(x[i+3] * y[i+3])
	}
	return a + b + (c + d)
}
