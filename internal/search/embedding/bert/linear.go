package bert

import (
	"math"
	"runtime"

	"github.com/memsidecar/memsidecar/internal/search/vector/dot"
	"github.com/memsidecar/memsidecar/internal/search/vector/offheap"
)

const (
	maxColumns    = dot.MaxProducts // of a matrix
	maxActivation = dot.MaxInput    // greatest code of an activation
)

// matrix has 8-bit weights with a scale for each row; there is a row for each output, or for each token.
type matrix struct {
	columns int
	codes   []int8          // may lie in the program file: read only
	panels  bool            // the codes are in the order of dot.IntoPanels
	memory  *offheap.Memory // of the codes; nil where they lie in the program file
	scales  []float32       // by row: the value of code 1
}

// moveOffHeap moves the codes off the heap or out of the program file, in the order that is fastest on this machine.
func (m *matrix) moveOffHeap() {
	m.memory = offheap.New(len(m.codes))
	if m.panels = dot.HasPanels(len(m.scales)); m.panels {
		dot.IntoPanels(m.memory.Codes, m.codes, m.columns)
	} else {
		copy(m.memory.Codes, m.codes)
	}
	m.codes = m.memory.Codes
}

// linear is a linear layer. Each input is multiplied by its factor before it is quantised, and its column of weights
// was divided by it: a factor evens out columns of very different size, as in Xiao et al., "SmoothQuant", 2023.
type linear struct {
	repeated []uint32  // inputs that follow all inputs once more, for the rounding error of their weights
	factors  []float32 // one for each column of the matrix
	matrix
	bias []float32
}

// outlierColumns are the columns of a matrix that stay float32, as in Dettmers et al., "LLM.int8()", 2022: their
// weights would leave the others of a row few codes. The matrix has zeros in their place.
type outlierColumns struct {
	columns []uint32
	weights []float32 // column by column
}

// addProducts adds to each row of out the products of the outlier columns with a row of in, which has width numbers.
func (o *outlierColumns) addProducts(out, in []float32, width int) {
	if len(o.columns) == 0 {
		return
	}
	n := len(o.weights) / len(o.columns)
	for ; len(in) > 0; in = in[width:] {
		for i, column := range o.columns {
			x, row := in[column], out[:n]
			weights := o.weights[i*n:][:len(row)]
			for k := range row {
				row[k] += float32(x * weights[k])
			}
		}
		out = out[n:]
	}
}

// apply sets out to l of each row of in. Rows of in are stride numbers apart.
func (s *scratch) apply(l *linear, in []float32, stride int, out []float32) {
	s.quantizeRows(in, 0, stride, l.factors, l.repeated)
	n := len(l.bias)
	sums := s.sums[:len(out)]
	if l.panels {
		dot.PanelProducts(sums, l.codes, l.columns, s.codes)
	} else {
		dot.Products(sums, l.codes, l.columns, s.codes)
	}
	runtime.KeepAlive(l.memory)
	for t, scale := range s.scales {
		dequantizeRow(out[t*n:(t+1)*n], sums[t*n:(t+1)*n], l.scales[:n], l.bias, scale)
	}
}

// quantizeRows sets codes and scales to the quantised numbers of each row, from column first on, one for each factor;
// the last ones are those that repeated names. Rows are stride numbers apart.
func (s *scratch) quantizeRows(rows []float32, first, stride int, factors []float32, repeated []uint32) {
	s.codes, s.scales = s.codes[:0], s.scales[:0]
	once := len(factors) - len(repeated)
	for ; len(rows) > 0; rows = rows[stride:] {
		n := len(s.codes)
		s.codes = s.codes[:n+len(factors)]
		inverse, scale := quantizeRow(s.codes[n:], rows[first:], factors[:once])
		for i, column := range repeated { // never the greatest: their factors are small
			s.codes[n+once+i] = int16(nearest(float32(rows[first+int(column)] * factors[once+i] * inverse)))
		}
		s.scales = append(s.scales, scale)
	}
}

// quantizeRow sets codes to row times factors. scale is the value of code 1 and inverse is 1/scale.
func quantizeRow(codes []int16, row, factors []float32) (inverse, scale float32) {
	inverse, scale = scaleOf(math.Float32frombits(greatestMagnitude(row[:len(factors)], factors)))
	if inverse == 0 { // zeros, or numbers that are not finite
		clear(codes[:len(factors)])
		return inverse, scale
	}
	quantizeCodes(codes[:len(factors)], row[:len(factors)], factors, inverse)
	return inverse, scale
}

// magnitude orders floats by their absolute value; NaN is above all.
func magnitude(x float32) uint32 { return math.Float32bits(x) &^ (1 << 31) }

// scaleOf returns the scale for numbers up to greatest, and its inverse. Both are 0 when greatest is 0 or not finite.
func scaleOf(greatest float32) (inverse, scale float32) {
	if !(greatest > 1e-30 && greatest < 1e30) {
		return 0, 0
	}
	return maxActivation / greatest, greatest / maxActivation
}
