package bert

import (
	"math"

	"github.com/memsidecar/memsidecar/internal/search/vector/dot"
)

// Attention as in Vaswani et al., "Attention Is All You Need", 2017, on integers. Products takes 8-bit weights, but
// keys and values need 14 bits: each is split into two weights, whose products are added up afterwards.

// lowBits of a 14-bit code are in its second weight, the rest in the first.
const (
	lowBits = 7
	lowHalf = 1 << (lowBits - 1)
)

// high and low split a code from −maxActivation to maxActivation: it is high<<lowBits + low.
func high(code int16) int8 { return int8((code + lowHalf) >> lowBits) }
func low(code int16) int8  { return int8((code+lowHalf)&(1<<lowBits-1) - lowHalf) }

// attention has the buffers of one head and one text.
type attention struct {
	keys      []int8    // 2·tokens × size: the high codes of all keys, then the low ones
	keyScales []float32 // tokens
	// 2·size × padded tokens: a row for each component of the values; high codes of all, then low ones
	values      []int8
	valueScales []float32 // size
	scores      []float32 // tokens, and room behind them for a whole step
	headCodes   []int16   // size
	highs, lows []int8    // size: halves of headCodes
	inverses    []float32 // size: of valueScales
}

// fit grows the buffers to a text of so many tokens. They are kept between texts, so that a text
// that is no longer than those before it allocates nothing here.
func (a *attention) fit(tokens, size int) {
	if tokens <= cap(a.keyScales) && size <= cap(a.headCodes) {
		return
	}
	a.keys, a.keyScales = make([]int8, 2*tokens*size), make([]float32, tokens)
	a.values, a.valueScales = make([]int8, 2*size*paddedTokens(tokens)), make([]float32, size)
	a.scores, a.headCodes = make([]float32, paddedTokens(tokens)), make([]int16, size)
	a.highs, a.lows, a.inverses = make([]int8, size), make([]int8, size), make([]float32, size)
}

// paddedTokens is a length that rows of Products can have.
func paddedTokens(tokens int) int { return (tokens + dot.Step - 1) / dot.Step * dot.Step }

// attendHead computes the attention of one head within one text. Each of rows has width queries, width keys and width
// values; the head's part begins at first and is as long as ones. The output replaces the queries of the tokens from
// and before to.
func (s *scratch) attendHead(rows []float32, width, first int, ones []float32, from, to int) {
	a, tokens, size := &s.attention, len(rows)/(3*width), len(ones)
	a.fit(tokens, size)
	a.quantizeKeys(rows[width+first:], tokens, 3*width, ones)
	a.quantizeValues(rows[2*width+first:], tokens, 3*width, size)
	for ; from < to; from += blockTokens {
		count := min(blockTokens, to-from)
		queries := rows[3*width*from:][:3*width*count]
		s.quantizeRows(queries, first, 3*width, ones, nil)
		sums := s.sums[:2*count*tokens]
		dot.Products(sums, a.keys[:2*tokens*size], size, s.codes)
		s.softmax(sums, tokens, float32(1/math.Sqrt(float64(size))))
		outputs := s.sums[:2*count*size]
		dot.Products(outputs, a.values[:2*size*paddedTokens(tokens)], paddedTokens(tokens), s.codes)
		for i, scale := range s.scales {
			out, sums := queries[3*width*i+first:][:size], outputs[2*size*i:][:2*size]
			joinRow(out, sums[:size], sums[size:], a.valueScales[:size], scale)
		}
	}
}

// softmax sets codes to the attention of each query to each value, from the dot products of the query with the high
// and low codes of the keys. scales become the values of code 1.
func (s *scratch) softmax(sums []int32, tokens int, scoreScale float32) {
	a, padded := &s.attention, paddedTokens(tokens)
	s.codes = s.codes[:padded*len(s.scales)]
	scores, keyScales := a.scores[:tokens], a.keyScales[:tokens]
	for i, scale := range s.scales {
		scale *= scoreScale
		high, low := sums[2*tokens*i:][:len(scores)], sums[2*tokens*i+tokens:][:len(scores)]
		// The greatest score is subtracted before exp, so that no power overflows.
		greatest := float32(math.Inf(-1))
		for j := range scores {
			score := float32(high[j]<<lowBits+low[j]) * (keyScales[j] * scale)
			scores[j] = score
			if score > greatest {
				greatest = score
			}
		}
		row, sum := s.codes[padded*i:][:padded], int32(0)
		expRow(scores, greatest)
		for j, share := range scores {
			code := nearest(float32(share * maxActivation))
			row[j] = int16(code)
			sum += code
		}
		// The kernels work on whole steps; what is behind the last token must count nothing.
		clear(row[tokens:])
		s.scales[i] = 1 / float32(sum)
	}
}

// quantizeKeys splits each key's 16-bit codes into two bytes, so that the scores come from the int8 kernels
// with the precision of 16 bits.
func (a *attention) quantizeKeys(rows []float32, tokens, stride int, ones []float32) {
	size := len(ones)
	for j := range tokens {
		codes := a.headCodes[:size]
		_, a.keyScales[j] = quantizeRow(codes, rows[stride*j:], ones)
		splitCodes(a.keys[j*size:][:size], a.keys[(tokens+j)*size:][:size], codes)
	}
}

// quantizeValues transposes the values: attention sums over tokens, so a row has one component of all tokens.
func (a *attention) quantizeValues(rows []float32, tokens, stride, size int) {
	padded, greatest := paddedTokens(tokens), a.valueScales[:size]
	clear(greatest)
	for j := range tokens {
		raiseMagnitudes(greatest, rows[stride*j:][:size])
	}
	inverses := a.inverses[:size]
	for k := range greatest {
		inverses[k], greatest[k] = scaleOf(greatest[k])
	}
	codes, highs, lows := a.headCodes[:size], a.highs[:size], a.lows[:size]
	for j := range tokens {
		quantizeCodes(codes, rows[stride*j:][:size], inverses, 1)
		splitCodes(highs, lows, codes)
		for k, code := range highs {
			a.values[k*padded+j], a.values[(size+k)*padded+j] = code, lows[k]
		}
	}
	for row := 0; row < 2*size*padded; row += padded { // what is behind the last token must count nothing
		clear(a.values[row+tokens : row+padded])
	}
}
