package vector

import "golang.org/x/sys/cpu"

// dots sets out[i] to the product of q and the ith row of rows.
func dots(out []int32, q, rows []int8) {
	fits(out, q, rows)
	if len(out) > 0 && cpu.X86.HasAVX2 {
		dotsAVX2(&out[0], &q[0], &rows[0], len(out), len(q))
		return
	}
	dotsPortable(out, q, rows)
}

// dotsAVX2 needs n ≥ 1, stride a multiple of 32 and ≥ 32, and a processor with AVX2.
//
//go:noescape
func dotsAVX2(out *int32, q, rows *int8, n, stride int)
