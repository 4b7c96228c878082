package encoder

import "math"

// Functions whose result has the same bits on every machine. A product that is added to something stands inside float32( ) or
// float64( ), which forbids the compiler to fuse the two and so round once instead of twice; what package math has in assembly for
// some processors is not used, but for the square root, which is exact to the last bit everywhere.

// shifter added to a float32 of less than 2^22 leaves the nearest integer, ties to even, in the low bits.
const (
	shifter     = 3 << 22
	shifterBits = 0x4B400000
)

// nearest returns the integer next to x, which must be less than 2^22 either way.
func nearest(x float32) int32 { return int32(math.Float32bits(x+shifter)) - shifterBits }

// exp returns e^x for x ≤ 0 within 2e-7 of it, and 0 below −87.
func exp(x float32) float32 {
	const (
		perTwo = 1.44269504088896340736 // 1 / ln 2
		high   = 0.693359375            // ln 2, whose multiples are exact
		low    = -2.12194440054690583e-4
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
	bellReach = 6  // beyond it the function is 0 or 1 to within 1e-9
	bellSteps = 64 // in 1
)

// bell is Gauss' cumulative distribution: at each node its value, its slope, and half of its curvature. Between nodes the error is less than 1e-7.
type bell [2*bellReach*bellSteps + 1][3]float32

func newBell() *bell {
	b := &bell{}
	for i := range b {
		x := float64(i-bellReach*bellSteps) / bellSteps
		density := decay(x*x/2) / math.Sqrt(2*math.Pi)
		// 1/2 + density·(x + x³/3 + x⁵/(3·5) + …)
		sum, term := 0.0, x
		for k := 3.0; sum+term != sum; k += 2 {
			sum += term
			term = float64(term * (x * x / k))
		}
		b[i] = [3]float32{float32(0.5 + float64(density*sum)), float32(density), float32(-x * density / 2)}
	}
	return b
}

// decay returns e^−y for y from 0 to 20.
func decay(y float64) float64 {
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

// gelu returns x times the distribution at x.
func (b *bell) gelu(x float32) float32 {
	if x >= bellReach {
		return x
	}
	if !(x > -bellReach) {
		return 0
	}
	n := nearest(x * bellSteps)
	node := &b[n+bellReach*bellSteps]
	d := x - float32(n)*(1.0/bellSteps)
	p := float32(d*node[2]) + node[1]
	return x * (float32(d*p) + node[0])
}
