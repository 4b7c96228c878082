//go:build !amd64 && !arm64

package dot

func dots(out []int32, q, rows []int8) { dotsPortable(out, q, rows) }

func products(out []int32, weights []int8, k int, inputs []int16) {
	productsPortable(out, weights, k, inputs)
}

func packed(out []int32, q []int8, rows []uint8) { packedPortable(out, q, rows) }
