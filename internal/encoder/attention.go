package encoder

import (
	"math"

	"github.com/memsidecar/memsidecar/internal/kernel"
)

// lowBits of a code of 14 are in one weight, the others in a second one: products take weights of 8, and with two of them attention loses
// no more than a matrix does.
const (
	lowBits = 7
	lowHalf = 1 << (lowBits - 1)
)

// high and low split a code from −largest to largest: it is high<<lowBits + low.
func high(code int16) int8 { return int8((code + lowHalf) >> lowBits) }
func low(code int16) int8  { return int8((code+lowHalf)&(1<<lowBits-1) - lowHalf) }

// attention is what a pass needs for one head and one text.
type attention struct {
	keys      []int8    // 2·tokens × size: the high codes of all keys, then the low ones
	keySteps  []float32 // tokens
	values    []int8    // 2·size × padded tokens: a row for each of a value's numbers, the high codes of all, then the low ones
	valueStep []float32 // size
	scores    []float32 // tokens
	codes     []int16   // size
}

func (a *attention) fit(tokens, size int) {
	if tokens <= cap(a.keySteps) && size <= cap(a.codes) {
		return
	}
	a.keys, a.keySteps = make([]int8, 2*tokens*size), make([]float32, tokens)
	a.values, a.valueStep = make([]int8, 2*size*padded(tokens)), make([]float32, size)
	a.scores, a.codes = make([]float32, tokens), make([]int16, size)
}

// padded is a length that products can have.
func padded(tokens int) int { return (tokens + 31) / 32 * 32 }

// attend does one head of one text. Each of rows has width queries, width keys and width values, of which the head's are as many as ones from
// first. What it finds takes the place of its queries.
func (s *scratch) attend(rows []float32, width, first int, ones []float32) {
	a, tokens, size := &s.attention, len(rows)/(3*width), len(ones)
	a.fit(tokens, size)
	a.takeKeys(rows[width+first:], tokens, 3*width, ones)
	a.takeValues(rows[2*width+first:], tokens, 3*width, size)
	for from := 0; from < tokens; from += stretch {
		to := min(from+stretch, tokens)
		queries := rows[3*width*from:][:3*width*(to-from)]
		s.encode(queries, first, 3*width, ones, nil)
		sums := s.sums[:2*(to-from)*tokens]
		kernel.Products(sums, a.keys[:2*tokens*size], size, s.codes)
		s.share(sums, tokens, float32(1/math.Sqrt(float64(size))))
		found := s.sums[:2*(to-from)*size]
		kernel.Products(found, a.values[:2*size*padded(tokens)], padded(tokens), s.codes)
		for i, step := range s.steps {
			out, sums := queries[3*width*i+first:][:size], found[2*size*i:][:2*size]
			for k := range out {
				out[k] = float32(int64(sums[k])<<lowBits+int64(sums[size+k])) * (a.valueStep[k] * step)
			}
		}
	}
}

// share makes codes of how much each query takes of each value, of the sums of the queries' products with the high and low codes of the keys.
// Steps become what 1 in a query's codes is worth.
func (s *scratch) share(sums []int32, tokens int, scale float32) {
	a, long := &s.attention, padded(tokens)
	s.codes = s.codes[:long*len(s.steps)]
	scores, steps := a.scores[:tokens], a.keySteps[:tokens]
	for i, step := range s.steps {
		step *= scale
		high, low := sums[2*tokens*i:][:len(scores)], sums[2*tokens*i+tokens:][:len(scores)]
		most := float32(math.Inf(-1))
		for j := range scores {
			score := float32(high[j]<<lowBits+low[j]) * (steps[j] * step)
			scores[j] = score
			if score > most {
				most = score
			}
		}
		row, sum := s.codes[long*i:][:long], int32(0)
		for j, score := range scores {
			code := nearest(exp(score-most) * largest)
			row[j] = int16(code)
			sum += code
		}
		clear(row[tokens:])
		s.steps[i] = 1 / float32(sum)
	}
}

func (a *attention) takeKeys(rows []float32, tokens, stride int, ones []float32) {
	size := len(ones)
	for j := range tokens {
		codes := a.codes[:size]
		_, a.keySteps[j] = quantise(codes, rows[stride*j:], ones)
		highs, lows := a.keys[j*size:][:size], a.keys[(tokens+j)*size:][:size]
		for k, code := range codes {
			highs[k], lows[k] = high(code), low(code)
		}
	}
}

// takeValues lays the numbers of the values at one place behind each other: they are what is added up.
func (a *attention) takeValues(rows []float32, tokens, stride, size int) {
	long, most := padded(tokens), a.valueStep[:size]
	clear(most)
	for j := range tokens {
		for k, x := range rows[stride*j:][:size] {
			most[k] = math.Float32frombits(max(math.Float32bits(most[k]), magnitude(x)))
		}
	}
	for k := range most {
		perStep, step := steps(most[k])
		most[k] = step
		highs, lows := a.values[k*long:][:long], a.values[(size+k)*long:][:long]
		for j := range tokens {
			code := int16(nearest(float32(rows[stride*j+k] * perStep)))
			highs[j], lows[j] = high(code), low(code)
		}
		clear(highs[tokens:])
		clear(lows[tokens:])
	}
}
