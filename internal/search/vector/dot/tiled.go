//go:build amd64 || arm64

package dot

// dots uses the widest kernel that this processor has; all give the same integers.
func dots(out []int32, q, rows []int8) {
	if tiles := bestTiles(); tiles != nil {
		tiles.dots(&out[0], &rows[0], &q[0], len(out), len(q))
	} else {
		dotsPortable(out, q, rows)
	}
}

// products uses the widest kernel that this processor has; all give the same integers.
func products(out []int32, weights []int8, k int, inputs []int16) {
	if tiles := bestTiles(); tiles != nil {
		tiles.products(out, weights, k, inputs)
	} else {
		productsPortable(out, weights, k, inputs)
	}
}

// kernels are those of one instruction set.
type kernels struct {
	// tiles of Products, for 4, 2 and 1 inputs at a time
	four, two, one func(out *int32, weights *int8, inputs *int16, rows, k, n int)
	dots           func(out *int32, rows, q *int8, n, k int)
}

// usualTiles are those that every machine with hasTiles can run.
var usualTiles = &kernels{four: products4, two: products2, one: products1, dots: dotsTiled}

// packed uses the widest kernel that this processor has; all give the same integers.
func packed(out []int32, q []int8, rows []uint8) {
	if hasTiles() {
		packedTiled(out, q, rows)
	} else {
		packedPortable(out, q, rows)
	}
}

// packedTiled sums products of codes from 0 to 3. It needs a row at least.
func packedTiled(out []int32, q []int8, rows []uint8) {
	packed1(&out[0], &rows[0], &q[0], len(out), len(q), len(out))
}

// dotsTiled needs a row at least.
func dotsTiled(out *int32, rows, q *int8, n, k int) { dots1(out, rows, q, n, k, n) }

const (
	inputBlock  = 192 << 10 // bytes of inputs that stay in the L2 cache while all weights pass by them
	weightBlock = 8 << 10   // bytes of weights that stay in the L1 cache, beside four inputs
	maxTileRows = 4         // rows of weights in one tile, at most
)

// products walks over the inputs in blocks that fit the L2 cache. It needs a row of weights and an input at least.
func (t *kernels) products(out []int32, weights []int8, k int, inputs []int16) {
	n := len(weights) / k
	if n < maxTileRows {
		productsPortable(out, weights, k, inputs)
		return
	}
	// Cache blocking, as in Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008.
	many := inputBlock / (2 * k)
	for ; len(inputs) > many*k; inputs, out = inputs[many*k:], out[many*n:] {
		t.block(out[:many*n], weights, k, inputs[:many*k])
	}
	t.block(out, weights, k, inputs)
}

// block is Products for a block of inputs.
func (t *kernels) block(out []int32, weights []int8, k int, inputs []int16) {
	n, first := len(weights)/k, 0
	for first < n {
		rows := min(max(maxTileRows, weightBlock/k), n-first) / maxTileRows * maxTileRows
		if rows == 0 {
			// Fewer rows are left than a tile has: the tile starts earlier and computes some sums again.
			rows, first = maxTileRows, n-maxTileRows
		}
		t.rows(out[first:], weights[first*k:(first+rows)*k], k, n, inputs)
		first += rows
	}
}

// rows is Products for a multiple of maxTileRows rows of weights. In out, sums of consecutive inputs are n apart.
func (t *kernels) rows(out []int32, weights []int8, k, n int, inputs []int16) {
	rows, count := len(weights)/k, len(inputs)/k
	i := 0
	for ; i+4 <= count; i += 4 {
		t.four(&out[i*n], &weights[0], &inputs[i*k], rows, k, n)
	}
	if i+2 <= count {
		t.two(&out[i*n], &weights[0], &inputs[i*k], rows, k, n)
		i += 2
	}
	if i < count {
		t.one(&out[i*n], &weights[0], &inputs[i*k], rows, k, n)
	}
}
