// Package dot computes dot products of small integers: with AVX2 or NEON where the processor has them, else with
// portable Go. Integer addition does not round, so every kernel returns the same sums. The package knows neither
// scales nor meanings.
package dot

//go:generate go -C ../../../../tools/kernels run . ../../internal/search/vector/dot

const (
	// Step divides the length of every row of Dots and Products.
	Step = 32
	// MaxDots is the greatest length of the rows of Dots.
	MaxDots = 8192
	// MaxProducts is the greatest length of the rows of Products.
	MaxProducts = 2048
	// MaxInput is the greatest magnitude of an input of Products: with it, no sum of MaxProducts products overflows
	// 32 bits.
	MaxInput = 8191
	// PackedStep divides the length of the rows of PackedDots, in dimensions.
	PackedStep = 128
	// MaxPackedDots is the greatest length of the rows of PackedDots, in dimensions: AVX2 sums them in 16 bits.
	MaxPackedDots = 4096
)

// Dots sets out[i] to the dot product of q and row i of rows; each row is as long as q. It does not allocate. It
// panics when len(q) is 0, not a multiple of Step or above MaxDots, or when rows does not hold len(out) rows.
func Dots(out []int32, q, rows []int8) {
	if len(q) == 0 || len(q)%Step != 0 || len(q) > MaxDots || len(rows) != len(q)*len(out) {
		panic("dot: sizes of rows do not fit")
	}
	if len(out) > 0 {
		dots(out, q, rows)
	}
}

// Products multiplies a matrix with inputs: out[i*n+r] is the dot product of input i and row r of the n rows of
// weights. Rows and inputs have k numbers each. Inputs must be from −MaxInput to MaxInput; Products does not check
// them, and beyond that sums may wrap around differently on different machines. It does not allocate. It panics when
// k is 0, not a multiple of Step or above MaxProducts, when weights or inputs are not whole rows, or when out does
// not have one place for each pair.
//
// Many inputs at once, a multiple of 4, are fastest: one row of weights then serves them all.
func Products(out []int32, weights []int8, k int, inputs []int16) {
	if k <= 0 || k%Step != 0 || k > MaxProducts || len(weights)%k != 0 || len(inputs)%k != 0 ||
		len(out) != len(weights)/k*(len(inputs)/k) {
		panic("dot: sizes of rows do not fit")
	}
	if len(out) > 0 {
		products(out, weights, k, inputs)
	}
}

// HasPanels reports whether this machine multiplies so many rows of weights faster when they are in panels.
func HasPanels(rows int) bool { return rows > 0 && rows%panelRows == 0 && hasPanels() }

// IntoPanels copies weights, of which HasPanels is true, into panels of the same size. Rows have k numbers each. It
// panics when k is 0, not a multiple of Step or above MaxProducts, or when the sizes do not fit.
func IntoPanels(panels, weights []int8, k int) {
	if k <= 0 || k%Step != 0 || k > MaxProducts || len(weights)%k != 0 || len(panels) != len(weights) ||
		!HasPanels(len(weights)/k) {
		panic("dot: sizes of rows do not fit")
	}
	intoPanels(panels, weights, k)
}

// PanelProducts is Products for weights that IntoPanels has put into panels.
func PanelProducts(out []int32, panels []int8, k int, inputs []int16) {
	if k <= 0 || k%Step != 0 || k > MaxProducts || len(panels)%k != 0 || len(inputs)%k != 0 ||
		len(out) != len(panels)/k*(len(inputs)/k) || !HasPanels(len(panels)/k) {
		panic("dot: sizes of rows do not fit")
	}
	if len(out) > 0 {
		panelProducts(out, panels, k, inputs)
	}
}

// PackedDots sets out[i] to the dot product of q, codes from −127 to 127, and row i of rows, which holds len(q) codes
// of 2 bits, 0 to 3. A row consists of blocks of PackedStep dimensions, 32 bytes each; bits 2m and 2m+1 of byte j of
// a block are the code of its dimension 32m + j. It does not allocate. It panics when len(q) is 0, not a multiple of
// PackedStep or above MaxPackedDots, or when rows does not hold len(out) rows.
func PackedDots(out []int32, q []int8, rows []uint8) {
	if len(q) == 0 || len(q)%PackedStep != 0 || len(q) > MaxPackedDots || 4*len(rows) != len(q)*len(out) {
		panic("dot: sizes of rows do not fit")
	}
	if len(out) > 0 {
		packed(out, q, rows)
	}
}
