package bert

import "golang.org/x/sys/cpu"

// hasAVX2 reports whether this machine can run the row operations in assembly.
func hasAVX2() bool { return cpu.X86.HasAVX2 }

func dequantizeRow(out []float32, sums []int32, scales, bias []float32, scale float32) {
	n := len(out) / rowStep * rowStep
	if !hasAVX2() || n == 0 {
		n = 0
	} else {
		dequantizeAVX2(&out[0], &sums[0], &scales[0], &bias[0], n, scale)
	}
	dequantizePortable(out[n:], sums[n:], scales[n:], bias[n:], scale)
}

func greatestMagnitude(row, factors []float32) uint32 {
	n := len(factors) / rowStep * rowStep
	if !hasAVX2() || n == 0 {
		return greatestPortable(row, factors)
	}
	return max(greatestAVX2(&row[0], &factors[0], n), greatestPortable(row[n:], factors[n:]))
}

func quantizeCodes(codes []int16, row, factors []float32, inverse float32) {
	n := len(factors) / rowStep * rowStep
	if !hasAVX2() || n == 0 {
		n = 0
	} else {
		codesAVX2(&codes[0], &row[0], &factors[0], n, inverse)
	}
	codesPortable(codes[n:], row[n:], factors[n:], inverse)
}

func (t *gaussianCDF) geluRow(row []float32) {
	n := len(row) / rowStep * rowStep
	if !hasAVX2() || n == 0 {
		n = 0
	} else {
		geluAVX2(&row[0], &t[0], n)
	}
	t.geluPortable(row[n:])
}

func normalizeRow(row, weight, bias []float32, factor float32) {
	n := len(row) / rowStep * rowStep
	if !hasAVX2() || n == 0 {
		n = 0
	} else {
		normalizeAVX2(&row[0], &weight[0], &bias[0], n, factor)
	}
	normalizePortable(row[n:], weight[n:], bias[n:], factor)
}

// expRow may overwrite what row has room for behind its last number, up to a whole step: most queries have fewer tokens
// than one.
func expRow(row []float32, greatest float32) {
	if whole := (len(row) + rowStep - 1) / rowStep * rowStep; whole <= cap(row) {
		row = row[:whole]
	}
	n := len(row) / rowStep * rowStep
	if !hasAVX2() || n == 0 {
		n = 0
	} else {
		expAVX2(&row[0], n, greatest)
	}
	expPortable(row[n:], greatest)
}

func splitCodes(highs, lows []int8, codes []int16) {
	n := len(codes) / rowStep * rowStep
	if !hasAVX2() || n == 0 {
		n = 0
	} else {
		splitAVX2(&highs[0], &lows[0], &codes[0], n)
	}
	splitPortable(highs[n:], lows[n:], codes[n:])
}

func joinRow(out []float32, highs, lows []int32, scales []float32, scale float32) {
	n := len(out) / rowStep * rowStep
	if !hasAVX2() || n == 0 {
		n = 0
	} else {
		joinAVX2(&out[0], &highs[0], &lows[0], &scales[0], n, scale)
	}
	joinPortable(out[n:], highs[n:], lows[n:], scales[n:], scale)
}

func raiseMagnitudes(greatest, row []float32) {
	n := len(greatest) / rowStep * rowStep
	if !hasAVX2() || n == 0 {
		n = 0
	} else {
		raiseAVX2(&greatest[0], &row[0], n)
	}
	raisePortable(greatest[n:], row[n:])
}

// The functions in assembly compute n numbers, a positive multiple of rowStep.

//go:noescape
func dequantizeAVX2(out *float32, sums *int32, scales, bias *float32, n int, scale float32)

//go:noescape
func greatestAVX2(row, factors *float32, n int) uint32

//go:noescape
func codesAVX2(codes *int16, row, factors *float32, n int, inverse float32)

//go:noescape
func geluAVX2(row *float32, table *[4]float32, n int)

//go:noescape
func normalizeAVX2(row, weight, bias *float32, n int, factor float32)

//go:noescape
func expAVX2(row *float32, n int, greatest float32)

//go:noescape
func splitAVX2(highs, lows *int8, codes *int16, n int)

//go:noescape
func joinAVX2(out *float32, highs, lows *int32, scales *float32, n int, scale float32)

//go:noescape
func raiseAVX2(greatest, row *float32, n int)
