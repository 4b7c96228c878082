package main

import "fmt"

// vnni writes a tile with VPDPWSSD, which multiplies pairs of 16 bits and adds them to a sum of 32. Z0 to Z15 sums,
// Z16 to Z19 rows of weights, Z20 to Z23 inputs; other registers as in avx2.
func vnni(a *assembly, t tile) {
	weights, inputs := tileArguments(a, t)
	a.label("tile")
	for s := range t.sums() {
		a.op("VPXORD", z(s), z(s), z(s))
	}
	a.op("LEAQ", fmt.Sprint(prefetchDistance, at(weights[0], "R8", t.rows)), "R14")
	a.op("XORQ", "AX", "AX")
	a.label("columns")
	for b := 0; b < step*t.rows; b += 64 {
		a.op("PREFETCHT0", fmt.Sprint(b, at("R14", "AX", t.rows)))
	}
	for r, p := range weights {
		a.op("VPMOVSXBW", at(p, "AX", 1), z(16+r))
	}
	for i, p := range inputs {
		a.op("VMOVDQU64", at(p, "AX", 2), z(20+i))
		for r := range weights {
			a.op("VPDPWSSD", z(16+r), z(20+i), z(i*t.rows+r))
		}
	}
	a.op("ADDQ", fmt.Sprint("$", step), "AX")
	a.op("CMPQ", "AX", "R8")
	a.op("JLT", "columns")
	a.WriteByte('\n')

	for s := range t.sums() {
		a.op("VEXTRACTI64X4", "$1", z(s), y(16))
		a.op("VPADDD", y(16), y(s), y(s))
	}
	avx2Store(a, t)
	nextRows(a, t, weights)
}

const (
	panelRows   = 32 // rows of weights in a panel
	panelInputs = 8  // inputs that a panel is multiplied with at a time
)

// vnniPanel are the functions for many inputs. A panel holds rows of weights pair of columns by pair of columns, so
// that each lane of a register has a sum of its own, and none must be added up across lanes: with rows of 384 that
// takes a quarter of the time of a tile.
var vnniPanel = []function{{
	doc: "copies columns of 32 rows of weights, which are k bytes apart, into a panel: pair of columns\n" +
		"// by pair of columns, the two bytes of all rows. columns is a multiple of 16.",
	name: "packPanelVNNI", arguments: "panel, weights *int8, k, columns int", size: 32, write: packPanel,
}, {
	doc: "multiplies a panel with 8 inputs, which are k numbers apart. Sums of consecutive inputs are n apart\n" +
		"// in out. They are added to what is in out, unless first is not 0. columns is even. As many bytes as the panel has\n" +
		"// are prefetched from next.",
	name:      "panelProductsVNNI",
	arguments: "out *int32, panel *int8, inputs *int16, next *int8, k, n, columns, first int", size: 64,
	write: panelProducts,
}}

// panelProducts keeps the sums in Z0 to Z15: two registers of 16 rows for each input. Registers: DI sums, SI panel, R14
// bytes to prefetch, AX bytes of an input done, CX of all.
func panelProducts(a *assembly) {
	inputs := []string{"DX", "BX", "R9", "R10", "R11", "R12", "R13", "R15"}
	a.op("MOVQ", "out+0(FP)", "DI")
	a.op("MOVQ", "panel+8(FP)", "SI")
	a.op("MOVQ", "inputs+16(FP)", inputs[0])
	a.op("MOVQ", "next+24(FP)", "R14")
	a.op("MOVQ", "k+32(FP)", "R8")
	a.op("MOVQ", "columns+48(FP)", "CX")
	a.op("SHLQ", "$1", "CX")
	for i := 1; i < panelInputs; i++ {
		a.op("LEAQ", at(inputs[i-1], "R8", 2), inputs[i])
	}
	for s := range 2 * panelInputs {
		a.op("VPXORD", z(s), z(s), z(s))
	}
	a.op("XORQ", "AX", "AX")
	a.label("pairs")
	a.op("PREFETCHT1", "(R14)")
	a.op("VPMOVSXBW", "(SI)", z(16))
	a.op("VPMOVSXBW", "32(SI)", z(17))
	for i, p := range inputs {
		a.op("VPBROADCASTD", at(p, "AX", 1), z(18+i))
		a.op("VPDPWSSD", z(16), z(18+i), z(2*i))
		a.op("VPDPWSSD", z(17), z(18+i), z(2*i+1))
	}
	a.op("ADDQ", fmt.Sprint("$", 2*panelRows), "SI")
	a.op("ADDQ", fmt.Sprint("$", 2*panelRows), "R14")
	a.op("ADDQ", "$4", "AX")
	a.op("CMPQ", "AX", "CX")
	a.op("JLT", "pairs")
	a.WriteByte('\n')

	a.op("MOVQ", "n+40(FP)", "R9")
	a.op("SHLQ", "$2", "R9")
	a.op("MOVQ", "first+56(FP)", "AX")
	a.op("TESTQ", "AX", "AX")
	a.op("JNE", "store")
	a.op("MOVQ", "DI", "DX")
	for i := range panelInputs {
		a.op("VPADDD", "(DX)", z(2*i), z(2*i))
		a.op("VPADDD", "64(DX)", z(2*i+1), z(2*i+1))
		a.op("ADDQ", "R9", "DX")
	}
	a.label("store")
	for i := range panelInputs {
		a.op("VMOVDQU32", z(2*i), "(DI)")
		a.op("VMOVDQU32", z(2*i+1), "64(DI)")
		a.op("ADDQ", "R9", "DI")
	}
	a.op("VZEROUPPER")
	a.op("RET")
}

// packPanel transposes 8 × 8 pairs of bytes in each half of the registers: the lower has rows 0 to 7 of a group of 16,
// the upper rows 8 to 15. Registers: DI panel, SI and DX rows 0 and 8 of the group, BX to R11 three to seven times the
// length of a row, CX columns left, AX groups left.
func packPanel(a *assembly) {
	offsets := []string{"", "(R8*1)", "(R8*2)", "(BX*1)", "(R8*4)", "(R10*1)", "(BX*2)", "(R11*1)"}
	a.op("MOVQ", "panel+0(FP)", "R12")
	a.op("MOVQ", "weights+8(FP)", "R13")
	a.op("MOVQ", "k+16(FP)", "R8")
	a.op("LEAQ", at("R8", "R8", 2), "BX")
	a.op("LEAQ", at("R8", "R8", 4), "R10")
	a.op("LEAQ", at("R10", "R8", 2), "R11")
	a.op("MOVQ", fmt.Sprint("$", panelRows/lanes), "AX")
	a.label("group")
	a.op("MOVQ", "R12", "DI")
	a.op("MOVQ", "R13", "SI")
	a.op("LEAQ", at("R13", "R8", 8), "DX")
	a.op("MOVQ", "columns+24(FP)", "CX")
	a.label("columns")
	for r, offset := range offsets {
		a.op("VMOVDQU", "(SI)"+offset, x(r))
		a.op("VINSERTI128", "$1", "(DX)"+offset, y(r), y(r))
	}
	for r := 0; r < 8; r += 2 { // pairs of rows
		a.op("VPUNPCKLWD", y(r+1), y(r), y(8+r))
		a.op("VPUNPCKHWD", y(r+1), y(r), y(9+r))
	}
	for half := range 2 { // of the columns: four rows
		low, high := 8+half, 10+half
		for r := 0; r < 8; r += 4 {
			a.op("VPUNPCKLDQ", y(high+r), y(low+r), y(4*half+r/2))
			a.op("VPUNPCKHDQ", y(high+r), y(low+r), y(4*half+r/2+1))
		}
	}
	for quarter := range 4 { // eight rows
		low := quarter/2*4 + quarter%2
		a.op("VPUNPCKLQDQ", y(low+2), y(low), y(8+2*quarter))
		a.op("VPUNPCKHQDQ", y(low+2), y(low), y(9+2*quarter))
	}
	for pair := range 8 {
		a.op("VMOVDQU", y(8+pair), fmt.Sprintf("%d(DI)", 2*panelRows*pair))
	}
	a.op("ADDQ", fmt.Sprint("$", 8*2*panelRows), "DI")
	a.op("ADDQ", "$16", "SI")
	a.op("ADDQ", "$16", "DX")
	a.op("SUBQ", "$16", "CX")
	a.op("JNZ", "columns")
	a.WriteByte('\n')
	a.op("ADDQ", "$32", "R12")
	a.op("SHLQ", "$4", "R8")
	a.op("ADDQ", "R8", "R13")
	a.op("SHRQ", "$4", "R8")
	a.op("DECQ", "AX")
	a.op("JNZ", "group")
	a.WriteByte('\n')
	a.op("VZEROUPPER")
	a.op("RET")
}
