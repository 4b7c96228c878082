// Package kernel adds up products of small whole numbers: by the vector instructions of the processor where there are kernels
// for them, else by portable code. Whole numbers do not round, so the sums are the same on every machine. What the numbers
// mean, and how they are scaled, it does not know.
package kernel

//go:generate go -C ../../tools/kernels run . ../../internal/kernel

const (
	// Step is what the length of every row is a multiple of.
	Step = 32
	// MaxDots is the greatest length of the rows of Dots.
	MaxDots = 8192
	// MaxProducts is the greatest length of the rows of Products.
	MaxProducts = 2048
	// MaxInput is the greatest magnitude of an input of Products: with it, no sum of MaxProducts products leaves 32 bits.
	MaxInput = 8191
)

// Dots sets out[i] to the sum of the products of q and the ith row of rows, which is as long as q. It panics when len(q) is 0, not a
// multiple of Step or above MaxDots, or rows are not as many as out holds. It does not allocate.
func Dots(out []int32, q, rows []int8) {
	if len(q) == 0 || len(q)%Step != 0 || len(q) > MaxDots || len(rows) != len(q)*len(out) {
		panic("kernel: sizes of rows do not fit")
	}
	if len(out) > 0 {
		dots(out, q, rows)
	}
}

// Products sets out[i*n+r] to the sum of the products of input i and row r of the n rows of weights: a matrix of n × k times
// each input. Rows of both are of k numbers. Inputs must be from −MaxInput to MaxInput, which is not looked at: beyond, sums
// may wrap around, and not alike on every machine. It panics when k is 0, not a multiple of Step or above MaxProducts, when
// weights or inputs are not whole rows, or out does not hold exactly a number for each pair of them. It does not allocate.
//
// It is fastest with many inputs at once, a multiple of 4: one row of weights then serves them all.
func Products(out []int32, weights []int8, k int, inputs []int16) {
	if k <= 0 || k%Step != 0 || k > MaxProducts || len(weights)%k != 0 || len(inputs)%k != 0 || len(out) != len(weights)/k*(len(inputs)/k) {
		panic("kernel: sizes of rows do not fit")
	}
	if len(out) > 0 {
		products(out, weights, k, inputs)
	}
}
