package bert

import "math"

// Operations on each number of a row. In compiled Go they take a third of the time of a pass, so amd64 has them in
// assembly, too, with the same bits. Rows have the same length within a call.

// rowStep is how many numbers the assembly computes at a time; the rest of a row is left to portable Go.
const rowStep = 16

// dequantizePortable sets out to sums, whose unit is scale times that of each column, plus bias.
func dequantizePortable(out []float32, sums []int32, scales, bias []float32, scale float32) {
	sums, scales, bias = sums[:len(out)], scales[:len(out)], bias[:len(out)]
	for i, sum := range sums {
		out[i] = float32(float32(sum)*scale*scales[i]) + bias[i]
	}
}

// greatestPortable returns the greatest magnitude of row times factors.
func greatestPortable(row, factors []float32) (greatest uint32) {
	row = row[:len(factors)]
	for i, f := range factors {
		greatest = max(greatest, magnitude(row[i]*f))
	}
	return greatest
}

// codesPortable sets codes to row times factors times inverse, rounded. They must be below 2^15 in magnitude.
func codesPortable(codes []int16, row, factors []float32, inverse float32) {
	row, codes = row[:len(factors)], codes[:len(factors)]
	for i, f := range factors {
		codes[i] = int16(nearest(float32(row[i] * f * inverse)))
	}
}

// geluPortable applies gelu to each number of a row.
func (t *gaussianCDF) geluPortable(row []float32) {
	for i, x := range row {
		row[i] = t.gelu(x)
	}
}

// normalizePortable multiplies each number of a row by factor and its weight, and adds its bias.
func normalizePortable(row, weight, bias []float32, factor float32) {
	weight, bias = weight[:len(row)], bias[:len(row)]
	for i, x := range row {
		row[i] = float32(x*factor*weight[i]) + bias[i]
	}
}

// expPortable replaces each number of a row by e to the power of its distance from the greatest, which is not positive.
func expPortable(row []float32, greatest float32) {
	for i, x := range row {
		row[i] = exp(x - greatest)
	}
}

// splitPortable splits codes of 14 bits into high and low ones.
func splitPortable(highs, lows []int8, codes []int16) {
	highs, lows = highs[:len(codes)], lows[:len(codes)]
	for i, code := range codes {
		highs[i], lows[i] = high(code), low(code)
	}
}

// joinPortable sets out to the sums of products with high and low codes, put together, times the scale of each column.
// float64 holds them without rounding.
func joinPortable(out []float32, highs, lows []int32, scales []float32, scale float32) {
	highs, lows, scales = highs[:len(out)], lows[:len(out)], scales[:len(out)]
	for i := range out {
		out[i] = float32(float64(float64(highs[i])*(1<<lowBits))+float64(lows[i])) * float32(scales[i]*scale)
	}
}

// raisePortable raises each number of greatest to the magnitude of that of row.
func raisePortable(greatest, row []float32) {
	row = row[:len(greatest)]
	for i, x := range row {
		greatest[i] = math.Float32frombits(max(math.Float32bits(greatest[i]), magnitude(x)))
	}
}
