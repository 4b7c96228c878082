//go:build !amd64

package bert

func dequantizeRow(out []float32, sums []int32, scales, bias []float32, scale float32) {
	dequantizePortable(out, sums, scales, bias, scale)
}

func greatestMagnitude(row, factors []float32) uint32 { return greatestPortable(row, factors) }

func quantizeCodes(codes []int16, row, factors []float32, inverse float32) {
	codesPortable(codes, row, factors, inverse)
}

func (t *gaussianCDF) geluRow(row []float32) { t.geluPortable(row) }

func normalizeRow(row, weight, bias []float32, factor float32) {
	normalizePortable(row, weight, bias, factor)
}

func expRow(row []float32, greatest float32) { expPortable(row, greatest) }

func splitCodes(highs, lows []int8, codes []int16) { splitPortable(highs, lows, codes) }

func joinRow(out []float32, highs, lows []int32, scales []float32, scale float32) {
	joinPortable(out, highs, lows, scales, scale)
}

func raiseMagnitudes(greatest, row []float32) { raisePortable(greatest, row) }
