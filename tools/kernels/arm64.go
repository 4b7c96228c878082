package main

import "fmt"

// First registers, of 128 bits: rows of weights, what is made of them, inputs (two of 16 bits each), sums.
const (
	neonRow, neonWide, neonInput, neonSum = 0, 4, 8, 16
)

// neon writes a tile. Registers: R0 sums, R1 columns left, R2 rows left, R3 length of a row, R4 bytes from one
// input's sums to the next's, R5 to R8 rows, R9 to R12 inputs, R13 address of a sum, R14 bytes to the next rows.
func neon(a *assembly, t tile) {
	if t.packed {
		neonPacked(a)
		return
	}
	a.op("MOVD", "out+0(FP)", "R0")
	a.op("MOVD", "weights+8(FP)", "R5")
	a.op("MOVD", "inputs+16(FP)", "R9")
	a.op("MOVD", "rows+24(FP)", "R2")
	a.op("MOVD", "k+32(FP)", "R3")
	if t.inputs > 1 {
		a.op("MOVD", "n+40(FP)", "R4")
		a.op("LSL", "$2", "R4", "R4")
	}
	for row := 1; row < t.rows; row++ {
		a.op("ADD", "R3", r(4+row), r(5+row))
	}
	for i := 1; i < t.inputs; i++ {
		a.op("ADD", shifted(t), r(8+i), r(9+i))
	}
	if t.rows > 1 {
		a.op("MOVD", fmt.Sprint("$", t.rows-1), "R14")
		a.op("MUL", "R3", "R14", "R14")
	}

	a.label("tile")
	for s := range max(t.sums(), 4) {
		a.op("VEOR", v(neonSum+s, "B16"), v(neonSum+s, "B16"), v(neonSum+s, "B16"))
	}
	a.op("MOVD", "R3", "R1")
	a.label("columns")
	for c := 0; c < step; c += 16 {
		if t.bits == 8 {
			neonBytes(a, t, c)
		} else {
			neonHalves(a, t)
		}
	}
	a.op("SUBS", fmt.Sprint("$", step), "R1", "R1")
	a.op("BNE", "columns")
	a.WriteByte('\n')

	neonStore(a, t)
	a.op("ADD", fmt.Sprint("$", 4*t.rows), "R0", "R0")
	for row := range t.rows {
		if t.rows > 1 {
			a.op("ADD", "R14", r(5+row), r(5+row))
		}
	}
	for i := range t.inputs {
		a.op("SUB", shifted(t), r(9+i), r(9+i))
	}
	a.op("SUBS", fmt.Sprint("$", t.rows), "R2", "R2")
	a.op("BNE", "tile")
	a.op("RET")
}

// neonBytes adds the products of 16 columns of bytes, from column c of the step, to the sums. Products have 16 bits,
// enough even for (−128)², and are added in pairs to 32 bits.
func neonBytes(a *assembly, t tile, c int) {
	for row := range t.rows {
		a.op("VLD1.P", fmt.Sprintf("16(%s)", r(5+row)), "["+v(neonRow+row, "B16")+"]")
	}
	for i := range t.inputs {
		a.op("VLD1.P", fmt.Sprintf("16(%s)", r(9+i)), "["+v(neonInput+i, "B16")+"]")
		for row := range t.rows {
			for half := range 2 {
				sum := i*t.rows + row
				if t.sums() == 1 {
					sum = c/8 + half // four accumulators: one would wait for its own latency
				}
				a.smull(half, neonWide+half, neonRow+row, neonInput+i)
				a.sadalp(neonSum+sum, neonWide+half)
			}
		}
	}
}

// neonHalves adds the products of 16 columns, of bytes widened to 16 bits, to the sums.
func neonHalves(a *assembly, t tile) {
	for row := range t.rows {
		a.op("VLD1.P", fmt.Sprintf("16(%s)", r(5+row)), "["+v(neonRow+row, "B16")+"]")
	}
	for i := range t.inputs {
		a.op("VLD1.P", fmt.Sprintf("32(%s)", r(9+i)),
			fmt.Sprintf("[%s, %s]", v(neonInput+2*i, "H8"), v(neonInput+2*i+1, "H8")))
	}
	for row := range t.rows {
		a.sxtl(0, neonWide+row, neonRow+row)
		a.sxtl(1, neonRow+row, neonRow+row)
	}
	for quarter := range 4 {
		wide := neonWide // the first 8 columns; the others are where the bytes were
		if quarter >= 2 {
			wide = neonRow
		}
		for i := range t.inputs {
			for row := range t.rows {
				a.smlal(quarter%2, neonSum+i*t.rows+row, neonInput+2*i+quarter/2, wide+row)
			}
		}
	}
}

// neonStore adds up the lanes of each sum and stores the results.
func neonStore(a *assembly, t tile) {
	if t.sums() == 1 {
		neonStoreOne(a)
		return
	}
	a.op("MOVD", "R0", "R13")
	for s := neonSum; s < neonSum+t.sums(); s += 4 { // four rows
		a.op("VADDP", v(s+1, "S4"), v(s, "S4"), v(s, "S4"))
		a.op("VADDP", v(s+3, "S4"), v(s+2, "S4"), v(s+2, "S4"))
		a.op("VADDP", v(s+2, "S4"), v(s, "S4"), v(s, "S4"))
		a.op("VST1", "["+v(s, "S4")+"]", "(R13)")
		if s+4 < neonSum+t.sums() {
			a.op("ADD", "R4", "R13", "R13")
		}
	}
}

// neonStoreOne stores the sum of all lanes of the first four accumulators.
func neonStoreOne(a *assembly) {
	for _, pair := range [][2]int{{0, 1}, {2, 3}, {0, 2}} {
		a.op("VADD", v(neonSum+pair[1], "S4"), v(neonSum+pair[0], "S4"), v(neonSum+pair[0], "S4"))
	}
	a.op("VADDV", v(neonSum, "S4"), fmt.Sprint("V", neonSum))
	a.op("FMOVS", fmt.Sprint("F", neonSum), "(R0)")
}

// neonPacked writes the tile of one row of 2-bit codes and one input. Codes are at most 3, so they are signed bytes
// too. Registers as in neon; V0 and V1 packed codes, V2 codes, V4 and V5 products, V8 inputs, V31 mask of a code.
func neonPacked(a *assembly) {
	a.op("MOVD", "out+0(FP)", "R0")
	a.op("MOVD", "weights+8(FP)", "R5")
	a.op("MOVD", "inputs+16(FP)", "R9")
	a.op("MOVD", "rows+24(FP)", "R2")
	a.op("MOVD", "k+32(FP)", "R3")
	a.op("VMOVI", "$3", v(31, "B16"))

	a.label("row")
	for s := range 4 {
		a.op("VEOR", v(neonSum+s, "B16"), v(neonSum+s, "B16"), v(neonSum+s, "B16"))
	}
	a.op("MOVD", "R3", "R1")
	a.label("columns")
	a.op("VLD1.P", "32(R5)", fmt.Sprintf("[%s, %s]", v(0, "B16"), v(1, "B16")))
	for m := range 4 {
		for half := range 2 { // of the 32 columns that share a place in their bytes
			source := v(half, "B16")
			if m > 0 {
				a.op("VUSHR", fmt.Sprint("$", 2*m), source, v(2, "B16"))
				source = v(2, "B16")
			}
			a.op("VAND", v(31, "B16"), source, v(2, "B16"))
			a.op("VLD1.P", "16(R9)", "["+v(8, "B16")+"]")
			for part := range 2 {
				a.smull(part, neonWide+part, 2, 8)
				a.sadalp(neonSum+2*half+part, neonWide+part)
			}
		}
	}
	a.op("SUBS", fmt.Sprint("$", packedStep), "R1", "R1")
	a.op("BNE", "columns")
	a.WriteByte('\n')

	neonStoreOne(a)
	a.op("ADD", "$4", "R0", "R0")
	a.op("SUB", "R3", "R9", "R9")
	a.op("SUBS", "$1", "R2", "R2")
	a.op("BNE", "row")
	a.op("RET")
}

// The next functions write instructions that Go's assembler has no name for. half is 0 for the lower half of a
// source, 1 for the upper.

// smull multiplies 8 signed bytes of n and m to 16 bits in d.
func (a *assembly) smull(half, d, n, m int) {
	a.word(0x0e20c000|half<<30|m<<16|n<<5|d, "smull%s v%d.8h, v%d.%s, v%d.%[4]s", second(half), d, n,
		[]string{"8b", "16b"}[half], m)
}

// smlal multiplies 4 signed 16-bit numbers of n and m and adds the products to the 32-bit sums in d.
func (a *assembly) smlal(half, d, n, m int) {
	a.word(0x0e608000|half<<30|m<<16|n<<5|d, "smlal%s v%d.4s, v%d.%s, v%d.%[4]s", second(half), d, n,
		[]string{"4h", "8h"}[half], m)
}

// sadalp adds pairs of 16-bit numbers of n to the 32-bit sums in d.
func (a *assembly) sadalp(d, n int) {
	a.word(0x4e606800|n<<5|d, "sadalp v%d.4s, v%d.8h", d, n)
}

// sxtl widens 8 signed bytes of n to 16 bits in d.
func (a *assembly) sxtl(half, d, n int) {
	a.word(0x0f08a400|half<<30|n<<5|d, "sxtl%s v%d.8h, v%d.%s", second(half), d, n, []string{"8b", "16b"}[half])
}

// word writes an instruction as a number with its disassembly as a comment.
func (a *assembly) word(code int, format string, operands ...any) {
	fmt.Fprintf(a, "\tWORD         $%#08x // %s\n", code, fmt.Sprintf(format, operands...))
}

// second is the suffix of an instruction that reads the upper half.
func second(half int) string { return []string{"", "2"}[half] }

// r is a general register.
func r(n int) string { return fmt.Sprint("R", n) }

// v is a vector register seen as lanes, such as B16.
func v(n int, lanes string) string { return fmt.Sprintf("V%d.%s", n, lanes) }

// shifted is the number of bytes in a row of inputs.
func shifted(t tile) string {
	if t.bits == 16 {
		return "R3<<1"
	}
	return "R3"
}
