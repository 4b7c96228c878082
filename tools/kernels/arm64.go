package main

import "fmt"

// First registers, of 128 bits: rows of weights, what is made of them, inputs (two of 16 bits each), sums.
const (
	neonRow, neonWide, neonInput, neonSum = 0, 4, 8, 16
)

// neon writes a tile. Registers: R0 sums, R1 columns left, R2 rows left, R3 length of a row, R4 bytes from one input's sums to the
// next's, R5 to R8 rows, R9 to R12 inputs, R13 where a sum goes, R14 bytes to the next rows.
func neon(a *assembly, t tile) {
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

// neonBytes adds the products of 16 columns of bytes, from column c of the step, to the sums: to 16 bits multiplied, which hold even
// (−128)², then added in pairs to 32.
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
					sum = c/8 + half // one would have to wait for itself
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
		a.op("VLD1.P", fmt.Sprintf("32(%s)", r(9+i)), fmt.Sprintf("[%s, %s]", v(neonInput+2*i, "H8"), v(neonInput+2*i+1, "H8")))
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
		for _, pair := range [][2]int{{0, 1}, {2, 3}, {0, 2}} {
			a.op("VADD", v(neonSum+pair[1], "S4"), v(neonSum+pair[0], "S4"), v(neonSum+pair[0], "S4"))
		}
		a.op("VADDV", v(neonSum, "S4"), fmt.Sprint("V", neonSum))
		a.op("FMOVS", fmt.Sprint("F", neonSum), "(R0)")
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

// What Go's assembler has no name for. half is 0 for the lower half of what is read, 1 for the upper.

func (a *assembly) smull(half, d, n, m int) {
	a.word(0x0e20c000|half<<30|m<<16|n<<5|d, "smull%s v%d.8h, v%d.%s, v%d.%[4]s", second(half), d, n, []string{"8b", "16b"}[half], m)
}

func (a *assembly) smlal(half, d, n, m int) {
	a.word(0x0e608000|half<<30|m<<16|n<<5|d, "smlal%s v%d.4s, v%d.%s, v%d.%[4]s", second(half), d, n, []string{"4h", "8h"}[half], m)
}

func (a *assembly) sadalp(d, n int) {
	a.word(0x4e606800|n<<5|d, "sadalp v%d.4s, v%d.8h", d, n)
}

func (a *assembly) sxtl(half, d, n int) {
	a.word(0x0f08a400|half<<30|n<<5|d, "sxtl%s v%d.8h, v%d.%s", second(half), d, n, []string{"8b", "16b"}[half])
}

// word writes an instruction as a number, and what a disassembler makes of it.
func (a *assembly) word(code int, format string, operands ...any) {
	fmt.Fprintf(a, "\tWORD         $%#08x // %s\n", code, fmt.Sprintf(format, operands...))
}

func second(half int) string { return []string{"", "2"}[half] }

func r(n int) string { return fmt.Sprint("R", n) }

func v(n int, lanes string) string { return fmt.Sprintf("V%d.%s", n, lanes) }

// shifted is the number of bytes in a row of inputs.
func shifted(t tile) string {
	if t.bits == 16 {
		return "R3<<1"
	}
	return "R3"
}
