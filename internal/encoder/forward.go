package encoder

import (
	"context"
	"math"

	"github.com/memsidecar/memsidecar/internal/kernel"
)

const (
	longest = kernel.MaxProducts // row of a matrix
	largest = kernel.MaxInput    // of an activation's code
	stretch = 64                 // tokens that go through a matrix together: the weights come from memory once for all of them
)

// scratch is what one pass needs, kept for the next one. It grows to 3 MB when a text has all the tokens it may have.
type scratch struct {
	hidden   []float32 // tokens × width: what is known of each token
	attended []float32 // tokens × 3·width: queries, keys, values; the queries become what attention found
	rows     []float32 // stretch × inner: what comes out of a matrix
	codes    []int16   // stretch × inner: what goes into one
	steps    []float32 // stretch: what 1 in a token's codes is worth
	sums     []int32   // stretch × inner
	attention
}

func (s *scratch) fit(m *model, tokens int) {
	if len(s.rows) == 0 {
		wide := max(m.Inner+m.FineOuter, 3*m.Width, m.Width+m.FineInner)
		s.rows, s.sums = make([]float32, stretch*wide), make([]int32, stretch*wide)
		s.codes, s.steps = make([]int16, stretch*wide), make([]float32, stretch)
	}
	if tokens*m.Width > len(s.hidden) {
		s.hidden, s.attended = make([]float32, tokens*m.Width), make([]float32, 3*tokens*m.Width)
	}
}

// forward sets out to the unit vectors of texts, given as tokens. It looks at ctx before every matrix and every head.
func (m *model) forward(ctx context.Context, s *scratch, b *bell, texts [][]int32, out [][]float32) error {
	tokens := 0
	for _, ids := range texts {
		tokens += len(ids)
	}
	s.fit(m, tokens)
	m.embed(s, texts)
	for i := range m.layers {
		l := &m.layers[i]
		if err := l.attend(ctx, m, s, texts, tokens); err != nil {
			return err
		}
		for from := 0; from < tokens; from += stretch {
			if err := l.think(ctx, m, s, b, from, min(from+stretch, tokens)); err != nil {
				return err
			}
		}
	}
	at := 0
	for i, ids := range texts {
		out[i] = pool(s.hidden[at*m.Width:(at+len(ids))*m.Width], m.Width)
		at += len(ids)
	}
	return nil
}

// embed sets hidden to what the words and their positions say.
func (m *model) embed(s *scratch, texts [][]int32) {
	at := 0
	for _, ids := range texts {
		for position, id := range ids {
			h := s.hidden[at : at+m.Width]
			word, wordStep := m.words.row(int(id))
			place := m.positions[position*m.Width:][:m.Width]
			for j := range h {
				h[j] = float32(float32(word[j])*wordStep) + place[j]
			}
			m.norm.apply(h, m.Epsilon)
			at += m.Width
		}
	}
}

// attend sets the queries in attended to what each token found among the tokens of its text.
func (l *layer) attend(ctx context.Context, m *model, s *scratch, texts [][]int32, tokens int) error {
	for from := 0; from < tokens; from += stretch {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+stretch, tokens)
		s.apply(&l.attention, s.hidden[from*m.Width:to*m.Width], m.Width, s.attended[3*from*m.Width:3*to*m.Width])
	}
	at := 0
	for _, ids := range texts {
		for head := range m.Heads {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.attend(s.attended[3*at*m.Width:3*(at+len(ids))*m.Width], m.Width, head*len(m.ones), m.ones)
		}
		at += len(ids)
	}
	return nil
}

// think takes what attention found for the tokens from and before to into hidden, and what follows from it.
func (l *layer) think(ctx context.Context, m *model, s *scratch, b *bell, from, to int) error {
	hidden := s.hidden[from*m.Width : to*m.Width]
	if err := ctx.Err(); err != nil {
		return err
	}
	rows := s.rows[:len(hidden)]
	s.apply(&l.mixed, s.attended[3*from*m.Width:3*to*m.Width], 3*m.Width, rows)
	l.mixedNorm.add(hidden, rows, m.Width, m.Epsilon)
	if err := ctx.Err(); err != nil {
		return err
	}
	inner := s.rows[:(to-from)*m.Inner]
	s.apply(&l.inner, hidden, m.Width, inner)
	for i, x := range inner {
		inner[i] = b.gelu(x)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.apart.add(hidden, inner, m.Inner)
	s.apply(&l.outer, inner, m.Inner, rows)
	l.outerNorm.add(hidden, rows, m.Width, m.Epsilon)
	return nil
}

// encode makes codes of as many numbers of each row of rows as there are factors, from first; the last of them are those that fine names, a second
// time. Rows lie stride apart.
func (s *scratch) encode(rows []float32, first, stride int, factors []float32, fine []uint32) {
	s.codes, s.steps = s.codes[:0], s.steps[:0]
	once := len(factors) - len(fine)
	for ; len(rows) > 0; rows = rows[stride:] {
		n := len(s.codes)
		s.codes = s.codes[:n+len(factors)]
		perStep, step := quantise(s.codes[n:], rows[first:], factors[:once])
		for i, column := range fine { // never the largest: their factors are small
			s.codes[n+once+i] = int16(nearest(float32(rows[first+int(column)] * factors[once+i] * perStep)))
		}
		s.steps = append(s.steps, step)
	}
}

// quantise sets codes to row times factors, in steps.
func quantise(codes []int16, row, factors []float32) (perStep, step float32) {
	most := uint32(0)
	row, codes = row[:len(factors)], codes[:len(factors)]
	for i, f := range factors {
		most = max(most, magnitude(row[i]*f))
	}
	perStep, step = steps(math.Float32frombits(most))
	for i, f := range factors {
		codes[i] = int16(nearest(float32(row[i] * f * perStep)))
	}
	return perStep, step
}

// magnitude orders numbers as they are without their sign; what is no number is above all.
func magnitude(x float32) uint32 { return math.Float32bits(x) &^ (1 << 31) }

// steps returns how many steps make 1, and what one is worth, where most is the greatest magnitude. Both are 0 where there is nothing, or something
// that is no number.
func steps(most float32) (perStep, step float32) {
	if !(most > 1e-30 && most < 1e30) {
		return 0, 0
	}
	return largest / most, most / largest
}

// apply sets out to d of each row of in, which lie stride apart.
func (s *scratch) apply(d *dense, in []float32, stride int, out []float32) {
	s.encode(in, 0, stride, d.factors, d.fine)
	n := len(d.bias)
	sums := s.sums[:len(out)]
	kernel.Products(sums, d.codes, d.columns, s.codes)
	for t, step := range s.steps {
		row, sums := out[t*n:(t+1)*n], sums[t*n:(t+1)*n]
		steps, bias := d.steps[:len(row)], d.bias[:len(row)]
		for i, sum := range sums[:len(row)] {
			row[i] = float32(float32(sum)*step*steps[i]) + bias[i]
		}
	}
}

// add adds to each row of out what the columns make of the row of in, which has width numbers.
func (a *apart) add(out, in []float32, width int) {
	if len(a.columns) == 0 {
		return
	}
	n := len(a.weights) / len(a.columns)
	for ; len(in) > 0; in = in[width:] {
		for i, column := range a.columns {
			x, row := in[column], out[:n]
			weights := a.weights[i*n:][:len(row)]
			for k := range row {
				row[k] += float32(x * weights[k])
			}
		}
		out = out[n:]
	}
}

// add adds what is new to each row of hidden and evens the row out.
func (n *evening) add(hidden, news []float32, width int, epsilon float32) {
	for at := 0; at < len(hidden); at += width {
		row, news := hidden[at:at+width], news[at:at+width]
		for i := range row {
			row[i] += news[i]
		}
		n.apply(row, epsilon)
	}
}

// apply gives row, a multiple of 4 long, mean 0 and deviation 1, then the weights and the bias.
func (n *evening) apply(row []float32, epsilon float32) {
	count := float32(len(row))
	var a, b, c, d float32
	for i := 0; i+3 < len(row); i += 4 {
		a += row[i]
		b += row[i+1]
		c += row[i+2]
		d += row[i+3]
	}
	mean := (a + b + (c + d)) / count
	for i := range row {
		row[i] -= mean
	}
	factor := 1 / float32(math.Sqrt(float64(dot(row, row)/count+epsilon)))
	weight, bias := n.weight[:len(row)], n.bias[:len(row)]
	for i, x := range row {
		row[i] = float32(x*factor*weight[i]) + bias[i]
	}
}

// dot returns the product of two rows of the same length, a multiple of 4.
func dot(x, y []float32) float32 {
	y = y[:len(x)]
	var a, b, c, d float32
	for i := 0; i+3 < len(x); i += 4 {
		a += float32(x[i] * y[i])
		b += float32(x[i+1] * y[i+1])
		c += float32(x[i+2] * y[i+2])
		d += float32(x[i+3] * y[i+3])
	}
	return a + b + (c + d)
}

// pool returns the direction of the mean of rows, with length 1.
func pool(rows []float32, width int) []float32 {
	out := make([]float32, width)
	for at := 0; at < len(rows); at += width {
		for i, x := range rows[at : at+width] {
			out[i] += x
		}
	}
	if length := float32(math.Sqrt(float64(dot(out, out)))); length > 0 {
		for i := range out {
			out[i] /= length
		}
	}
	return out
}
