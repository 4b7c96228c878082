//go:build amd64 || arm64

package kernel

func dots(out []int32, q, rows []int8) {
	if hasTiles() {
		dotsTiled(out, q, rows)
	} else {
		dotsPortable(out, q, rows)
	}
}

func products(out []int32, weights []int8, k int, inputs []int16) {
	if hasTiles() {
		productsTiled(out, weights, k, inputs)
	} else {
		productsPortable(out, weights, k, inputs)
	}
}

// dotsTiled needs a row at least.
func dotsTiled(out []int32, q, rows []int8) {
	dots1(&out[0], &rows[0], &q[0], len(out), len(q), len(out))
}

const (
	inputBlock  = 192 << 10 // bytes of inputs that stay in the second cache while all weights pass by them
	weightBlock = 8 << 10   // bytes of weights that stay in the first cache, beside four inputs, while these pass by them
	widest      = 4         // rows of weights that a tile takes at a time, at most
)

// productsTiled needs a row of weights and an input at least.
func productsTiled(out []int32, weights []int8, k int, inputs []int16) {
	n := len(weights) / k
	if n < widest {
		productsPortable(out, weights, k, inputs)
		return
	}
	many := inputBlock / (2 * k)
	for ; len(inputs) > many*k; inputs, out = inputs[many*k:], out[many*n:] {
		productsBlock(out[:many*n], weights, k, inputs[:many*k])
	}
	productsBlock(out, weights, k, inputs)
}

// productsBlock is Products for a block of inputs.
func productsBlock(out []int32, weights []int8, k int, inputs []int16) {
	n := len(weights) / k
	for first := 0; first < n; {
		rows := min(max(widest, weightBlock/k), n-first) / widest * widest
		if rows == 0 {
			// A few rows are left: some before them are done again, with the same result.
			rows, first = widest, n-widest
		}
		productsRows(out[first:], weights[first*k:(first+rows)*k], k, n, inputs)
		first += rows
	}
}

// productsRows is Products for rows of weights whose number is a multiple of widest. Sums of one input are n apart from those
// of the next.
func productsRows(out []int32, weights []int8, k, n int, inputs []int16) {
	rows, t := len(weights)/k, len(inputs)/k
	i := 0
	for ; i+4 <= t; i += 4 {
		products4(&out[i*n], &weights[0], &inputs[i*k], rows, k, n)
	}
	if i+2 <= t {
		products2(&out[i*n], &weights[0], &inputs[i*k], rows, k, n)
		i += 2
	}
	if i < t {
		products1(&out[i*n], &weights[0], &inputs[i*k], rows, k, n)
	}
}
