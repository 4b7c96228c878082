//go:build !amd64 && !arm64

package kernel

func dots(out []int32, q, rows []int8) { dotsPortable(out, q, rows) }

func products(out []int32, weights []int8, k int, inputs []int16) {
	productsPortable(out, weights, k, inputs)
}
