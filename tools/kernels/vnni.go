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

// vnniDots is the function for dots. VPDPBUSD multiplies unsigned bytes with signed ones, so 128 is added to the codes
// of a row, and 128 times the sum of q taken off again.
var vnniDots = function{
	doc:  "computes the dot products of q and n rows, one after the other; all have k codes, a multiple of 32.",
	name: "dotsVNNI", arguments: "out *int32, rows, q *int8, n, k int", size: 40, write: dotsOfBytes,
}

// dotsOfBytes: Z0 sums, Z1 and Z2 codes, Z30 what each sum begins with, Z31 128 in each byte; DI sums, SI row, DX q, CX
// rows left, R8 length of a row, R9 of it in whole registers, AX column.
func dotsOfBytes(a *assembly) {
	a.op("MOVQ", "out+0(FP)", "DI")
	a.op("MOVQ", "rows+8(FP)", "SI")
	a.op("MOVQ", "q+16(FP)", "DX")
	a.op("MOVQ", "n+24(FP)", "CX")
	a.op("MOVQ", "k+32(FP)", "R8")
	a.op("MOVQ", "R8", "R9")
	a.op("ANDQ", "$~63", "R9")
	a.op("MOVL", "$0x80808080", "AX")
	a.op("VPBROADCASTD", "AX", z(31))
	a.op("VPXORD", z(0), z(0), z(0))
	a.op("XORQ", "AX", "AX")
	each := func(label string, whole, rest func()) {
		a.op("CMPQ", "AX", "R9")
		a.op("JGE", label+"rest")
		a.label(label + "columns")
		whole()
		a.op("ADDQ", "$64", "AX")
		a.op("CMPQ", "AX", "R9")
		a.op("JLT", label+"columns")
		a.label(label + "rest")
		a.op("CMPQ", "AX", "R8")
		a.op("JGE", label+"done")
		rest() // the upper half of a register becomes 0
		a.label(label + "done")
	}
	each("q", func() {
		a.op("VPDPBUSD", at("DX", "AX", 1), z(31), z(0))
	}, func() {
		a.op("VMOVDQU", at("DX", "AX", 1), y(1))
		a.op("VPDPBUSD", z(1), z(31), z(0))
	})
	a.op("VPXORD", z(30), z(30), z(30))
	a.op("VPSUBD", z(0), z(30), z(30))
	a.label("row")
	a.op("VMOVDQA64", z(30), z(0))
	a.op("XORQ", "AX", "AX")
	each("", func() {
		a.op("VPXORD", at("SI", "AX", 1), z(31), z(1))
		a.op("VPDPBUSD", at("DX", "AX", 1), z(1), z(0))
	}, func() {
		a.op("VMOVDQU", at("SI", "AX", 1), y(1))
		a.op("VPXORD", z(31), z(1), z(1))
		a.op("VMOVDQU", at("DX", "AX", 1), y(2))
		a.op("VPDPBUSD", z(2), z(1), z(0))
	})
	a.op("VEXTRACTI64X4", "$1", z(0), y(1))
	avx2StoreOne(a)
	a.op("ADDQ", "R8", "SI")
	a.op("ADDQ", "$4", "DI")
	a.op("DECQ", "CX")
	a.op("JNZ", "row")
	a.WriteByte('\n')
	a.op("VZEROUPPER")
	a.op("RET")
}

// panelInputs is how many inputs a panel is multiplied with at a time, at most: each has two registers of sums,
// and four hold the weights.
const panelInputs = 13

// vnniPanels are the functions for weights that were put into panels once, such as a model's. Each lane of a register
// then has the sum of another row, and none must be added up across lanes: with rows of 384 that takes a quarter of the
// time of a tile. All inputs share the widening of a weight.
func vnniPanels() (out []function) {
	for inputs := 1; inputs <= panelInputs; inputs++ {
		out = append(out, function{
			doc: fmt.Sprintf("computes 32 × %d sums at a time. rows is a multiple of 32, k of 4. In out, sums of\n"+
				"// consecutive inputs are n apart.", inputs),
			name: fmt.Sprintf("panel%dVNNI", inputs), arguments: "out *int32, weights *int8, inputs *int16, rows, k, n int",
			size: 48, write: func(a *assembly) { panelProducts(a, inputs) },
		})
	}
	return out
}

// panelProducts writes the function for so many inputs. Weights are in the order of intoPanels in package dot: of four
// columns, the bytes of a row are those of columns 0, 2, 1 and 3, so that the even ones and the odd ones are two pairs
// of neighbours. Z0 to Z27 sums, Z28 to Z31 weights; DI sums, SI weights, DX first input, CX columns left, BX rows
// left, AX bytes from one input's sums to the next's, R8 to R15 multiples of the length of an input.
func panelProducts(a *assembly, inputs int) {
	// An index register times its scale reaches every input.
	offsets := []string{"(DX)", "(DX)(R8*1)", "(DX)(R8*2)", "(DX)(R9*1)", "(DX)(R8*4)", "(DX)(R10*1)", "(DX)(R9*2)",
		"(DX)(R11*1)", "(DX)(R8*8)", "(DX)(R12*1)", "(DX)(R10*2)", "(DX)(R13*1)", "(DX)(R9*4)", "(DX)(R15*1)"}
	odd := []string{"R9", "R10", "R11", "R12", "R13", "R15"} // 3, 5, 7, 9, 11 and 13 times
	a.op("MOVQ", "out+0(FP)", "DI")
	a.op("MOVQ", "weights+8(FP)", "SI")
	a.op("MOVQ", "inputs+16(FP)", "DX")
	a.op("MOVQ", "rows+24(FP)", "BX")
	a.op("MOVQ", "k+32(FP)", "R8")
	a.op("MOVQ", "n+40(FP)", "AX")
	a.op("SHLQ", "$2", "AX")
	a.op("SHLQ", "$1", "R8")
	for i, before := 0, "R8"; i < len(odd) && 3+2*i < inputs; i++ {
		a.op("LEAQ", at(before, "R8", 2), odd[i])
		before = odd[i]
	}
	a.label("block")
	for s := range 2 * inputs {
		a.op("VPXORD", z(s), z(s), z(s))
	}
	a.op("MOVQ", "k+32(FP)", "CX")
	a.label("columns")
	for half := range 2 { // of 16 rows: the odd columns, then the even ones
		a.op("PREFETCHT0", fmt.Sprintf("%d(SI)", panelPrefetch+64*half))
		a.op("VMOVDQU64", fmt.Sprintf("%d(SI)", 64*half), z(29+2*half))
		a.op("VPSLLW", "$8", z(29+2*half), z(28+2*half))
		a.op("VPSRAW", "$8", z(29+2*half), z(29+2*half))
		a.op("VPSRAW", "$8", z(28+2*half), z(28+2*half))
	}
	spare := 28 - 2*inputs // registers for inputs
	for pair := range 2 {
		for i := range inputs {
			input := z(27 - i%spare)
			a.op("VPBROADCASTD", fmt.Sprintf("%d%s", 4*pair, offsets[i]), input)
			for half := range 2 {
				a.op("VPDPWSSD", z(28+2*half+pair), input, z(2*i+half))
			}
		}
	}
	a.op("ADDQ", "$128", "SI")
	a.op("ADDQ", "$8", "DX")
	a.op("SUBQ", "$4", "CX")
	a.op("JNZ", "columns")
	a.WriteByte('\n')

	a.op("SUBQ", "R8", "DX")
	a.op("MOVQ", "DI", "CX")
	for i := range inputs {
		a.op("VMOVDQU32", z(2*i), "(CX)")
		a.op("VMOVDQU32", z(2*i+1), "64(CX)")
		a.op("ADDQ", "AX", "CX")
	}
	a.op("ADDQ", "$128", "DI")
	a.op("SUBQ", "$32", "BX")
	a.op("JNZ", "block")
	a.WriteByte('\n')
	a.op("VZEROUPPER")
	a.op("RET")
}

// panelPrefetch is how far ahead of the weights that are multiplied others are asked for.
const panelPrefetch = 1024
