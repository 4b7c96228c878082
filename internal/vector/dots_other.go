//go:build !amd64

package vector

// dots sets out[i] to the product of q and the ith row of rows.
func dots(out []int32, q, rows []int8) {
	fits(out, q, rows)
	dotsPortable(out, q, rows)
}
