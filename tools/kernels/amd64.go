package main

import "fmt"

// lanes is the number of columns in one register: weights are widened to 16 bits, multiplied and added in pairs to 32
// bits.
const lanes = 16

// prefetchDistance is where the bytes to prefetch begin, counted from the rows of the next tile. Several rows side by
// side are more than the hardware prefetcher foresees. A prefetch past the last row cannot fault.
const prefetchDistance = 1024

// avx2 writes a tile. Registers: DI sums, AX column, CX rows left, R8 length of a row, R9 bytes from one input's sums
// to the next's, R14 prefetch address.
func avx2(a *assembly, t tile) {
	if t.packed {
		avx2Packed(a)
		return
	}
	weights, inputs := tileArguments(a, t)

	a.label("tile")
	for s := range max(t.sums(), step/lanes) {
		a.op("VPXOR", y(s), y(s), y(s))
	}
	if t.rows > 1 {
		a.op("LEAQ", fmt.Sprint(prefetchDistance, at(weights[0], "R8", t.rows)), "R14")
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
	nextRows(a, t, weights)
}

// tileArguments loads the arguments of a tile and returns the registers that point to its rows and inputs.
func tileArguments(a *assembly, t tile) (weights, inputs []string) {
	pointers := []string{"SI", "BX", "R10", "R11", "DX", "R12", "R13", "R15"}
	weights, inputs = pointers[:t.rows], pointers[4:4+t.inputs]
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
	return weights, inputs
}

// nextRows moves to the next rows of weights, and back to the label "tile" unless none are left.
func nextRows(a *assembly, t tile, weights []string) {
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

// avx2Columns adds the products of 16 columns to all sums, starting at column AX + c.
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
				sum = c / lanes // two accumulators: one would wait for its own latency
			}
			a.op("VPMADDWD", y(input), y(row+r), y(pair+r%3))
			a.op("VPADDD", y(pair+r%3), y(sum), y(sum))
		}
	}
}

// avx2Store adds up the lanes of each sum and stores the results.
func avx2Store(a *assembly, t tile) {
	if t.sums() == 1 {
		avx2StoreOne(a)
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

// avx2Packed writes the tile of one row of 2-bit codes and one input. VPMADDUBSW multiplies unsigned codes with
// signed inputs and adds pairs to 16 bits: at most 2·3·128 for each block of 128 columns, and 32 blocks fit.
// Registers: DI sums, SI codes, DX input, CX rows left, R8 columns, AX column, R9 bytes of codes done, Y10 to Y13
// sums of 16 bits, Y14 ones, Y15 mask of a code.
func avx2Packed(a *assembly) {
	a.op("MOVQ", "out+0(FP)", "DI")
	a.op("MOVQ", "weights+8(FP)", "SI")
	a.op("MOVQ", "inputs+16(FP)", "DX")
	a.op("MOVQ", "rows+24(FP)", "CX")
	a.op("MOVQ", "k+32(FP)", "R8")
	a.op("VPCMPEQW", y(14), y(14), y(14))
	a.op("VPSRLW", "$15", y(14), y(14))
	a.op("VPCMPEQB", y(15), y(15), y(15))
	a.op("VPSRLW", "$14", y(15), y(15)) // 3 in each word
	a.op("VPACKUSWB", y(15), y(15), y(15))

	a.label("row")
	for m := range 4 {
		a.op("VPXOR", y(10+m), y(10+m), y(10+m))
	}
	a.op("XORQ", "AX", "AX")
	a.label("columns")
	a.op("VMOVDQU", "(SI)", y(0))
	for m := range 4 {
		shifted := y(0)
		if m > 0 {
			shifted = y(m)
			a.op("VPSRLW", fmt.Sprint("$", 2*m), y(0), shifted)
		}
		a.op("VPAND", y(15), shifted, y(4+m))
		a.op("VPMADDUBSW", fmt.Sprint(step*m, at("DX", "AX", 1)), y(4+m), y(4+m))
		a.op("VPADDW", y(4+m), y(10+m), y(10+m))
	}
	a.op("ADDQ", fmt.Sprint("$", packedStep/4), "SI")
	a.op("ADDQ", fmt.Sprint("$", packedStep), "AX")
	a.op("CMPQ", "AX", "R8")
	a.op("JLT", "columns")
	a.WriteByte('\n')

	for m := range 4 {
		a.op("VPMADDWD", y(14), y(10+m), y(10+m))
	}
	a.op("VPADDD", y(11), y(10), y(0))
	a.op("VPADDD", y(13), y(12), y(1))
	avx2StoreOne(a)
	a.op("ADDQ", "$4", "DI")
	a.op("DECQ", "CX")
	a.op("JNZ", "row")
	a.WriteByte('\n')
	a.op("VZEROUPPER")
	a.op("RET")
}

// avx2StoreOne stores the sum of all lanes of Y0 and Y1.
func avx2StoreOne(a *assembly) {
	a.op("VPADDD", y(1), y(0), y(0))
	a.op("VEXTRACTI128", "$1", y(0), x(1))
	a.op("VPADDD", x(1), x(0), x(0))
	a.op("VPSHUFD", "$0x4E", x(0), x(1))
	a.op("VPADDD", x(1), x(0), x(0))
	a.op("VPSHUFD", "$0xB1", x(0), x(1))
	a.op("VPADDD", x(1), x(0), x(0))
	a.op("VMOVD", x(0), "(DI)")
}

// x, y and z are registers of 128, 256 and 512 bits; a larger one contains the smaller ones of its number.
func x(n int) string { return fmt.Sprint("X", n) }
func y(n int) string { return fmt.Sprint("Y", n) }
func z(n int) string { return fmt.Sprint("Z", n) }

// at is an operand in memory.
func at(base, index string, scale int) string { return fmt.Sprintf("(%s)(%s*%d)", base, index, scale) }
