package main

import "fmt"

// 16 columns at a time: weights widened to 16 bits, multiplied and added in pairs to 32 bits.
const lanes = 16

// ahead is how far behind the rows of the next tile the bytes are that are asked for meanwhile. Rows side by side are more than the
// processor foresees by itself; a request behind the last row harms nothing, for it reads nothing and cannot fail.
const ahead = 1024

// avx2 writes a tile. Registers: DI sums, AX column, CX rows left, R8 length of a row, R9 bytes from one input's sums to the next's,
// R14 what is asked for.
func avx2(a *assembly, t tile) {
	pointers := []string{"SI", "BX", "R10", "R11", "DX", "R12", "R13", "R15"}
	weights, inputs := pointers[:t.rows], pointers[4:4+t.inputs]
	a.op("MOVQ", "out+0(FP)", "DI")
	a.op("MOVQ", "weights+8(FP)", weights[0])
	a.op("MOVQ", "inputs+16(FP)", inputs[0])
	a.op("MOVQ", "rows+24(FP)", "CX")
	a.op("MOVQ", "k+32(FP)", "R8")
	if t.inputs > 1 {
		a.op("MOVQ", "n+40(FP)", "R9")
		a.op("SHLQ", "$2", "R9")
	}
	for r := 1; r < t.rows; r++ {
		a.op("LEAQ", at(weights[r-1], "R8", 1), weights[r])
	}
	for i := 1; i < t.inputs; i++ {
		a.op("LEAQ", at(inputs[i-1], "R8", t.bits/8), inputs[i])
	}

	a.label("tile")
	for s := range max(t.sums(), step/lanes) {
		a.op("VPXOR", y(s), y(s), y(s))
	}
	if t.rows > 1 {
		a.op("LEAQ", fmt.Sprint(ahead, at(weights[0], "R8", t.rows)), "R14")
	}
	a.op("XORQ", "AX", "AX")
	a.label("columns")
	for b := 0; t.rows > 1 && b < step*t.rows; b += 64 {
		a.op("PREFETCHT0", fmt.Sprint(b, at("R14", "AX", t.rows)))
	}
	for c := 0; c < step; c += lanes {
		avx2Columns(a, t, c, weights, inputs)
	}
	a.op("ADDQ", fmt.Sprint("$", step), "AX")
	a.op("CMPQ", "AX", "R8")
	a.op("JLT", "columns")
	a.WriteByte('\n')

	avx2Store(a, t)
	a.op("ADDQ", fmt.Sprint("$", 4*t.rows), "DI")
	for _, w := range weights {
		a.op("LEAQ", at(w, "R8", t.rows), w)
	}
	a.op("SUBQ", fmt.Sprint("$", t.rows), "CX")
	a.op("JNZ", "tile")
	a.WriteByte('\n')
	a.op("VZEROUPPER")
	a.op("RET")
}

// avx2Columns adds 16 columns, which begin c behind AX, to all sums.
func avx2Columns(a *assembly, t tile, c int, weights, inputs []string) {
	row, input, pair := 8, 12, 13 // first registers
	for r, p := range weights {
		a.op("VPMOVSXBW", fmt.Sprint(c, at(p, "AX", 1)), y(row+r))
	}
	for i, p := range inputs {
		if t.bits == 8 {
			a.op("VPMOVSXBW", fmt.Sprint(c, at(p, "AX", 1)), y(input))
		} else {
			a.op("VMOVDQU", fmt.Sprint(2*c, at(p, "AX", 2)), y(input))
		}
		for r := range weights {
			sum := i*t.rows + r
			if t.sums() == 1 {
				sum = c / lanes // one would have to wait for itself
			}
			a.op("VPMADDWD", y(input), y(row+r), y(pair+r%3))
			a.op("VPADDD", y(pair+r%3), y(sum), y(sum))
		}
	}
}

// avx2Store adds up the lanes of each sum and stores the results.
func avx2Store(a *assembly, t tile) {
	if t.sums() == 1 {
		a.op("VPADDD", y(1), y(0), y(0))
		a.op("VEXTRACTI128", "$1", y(0), x(1))
		a.op("VPADDD", x(1), x(0), x(0))
		a.op("VPSHUFD", "$0x4E", x(0), x(1))
		a.op("VPADDD", x(1), x(0), x(0))
		a.op("VPSHUFD", "$0xB1", x(0), x(1))
		a.op("VPADDD", x(1), x(0), x(0))
		a.op("VMOVD", x(0), "(DI)")
		return
	}
	to := "DI"
	if t.inputs > 1 {
		to = "AX"
		a.op("MOVQ", "DI", to)
	}
	for s := 0; s < t.sums(); s += 4 {
		if s > 0 && t.rows >= 4 {
			a.op("ADDQ", "R9", to)
		}
		a.op("VPHADDD", y(s+1), y(s), y(s))
		a.op("VPHADDD", y(s+3), y(s+2), y(s+2))
		a.op("VPHADDD", y(s+2), y(s), y(s))
		a.op("VEXTRACTI128", "$1", y(s), x(s+1))
		a.op("VPADDD", x(s+1), x(s), x(s))
		if t.rows == 4 {
			a.op("VMOVDQU", x(s), "("+to+")")
			continue
		}
		if s > 0 {
			a.op("ADDQ", "R9", to)
		}
		a.op("VMOVQ", x(s), "("+to+")")
		a.op("ADDQ", "R9", to)
		a.op("VPEXTRQ", "$1", x(s), "("+to+")")
	}
}

func x(n int) string { return fmt.Sprint("X", n) }
func y(n int) string { return fmt.Sprint("Y", n) }

func at(base, index string, scale int) string { return fmt.Sprintf("(%s)(%s*%d)", base, index, scale) }
