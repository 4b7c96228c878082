package encoder

import (
	"context"
	"math"

	"github.com/memsidecar/memsidecar/internal/kernel"
)

const (
	largest = kernel.MaxInput // of an activation's code
	stretch = 64              // tokens that go through a matrix together: the weights come from memory once for all of them
)

// scratch is what one pass needs, kept for the next one. It grows to 3 MB when a text has all the tokens it may have.
type scratch struct {
	hidden   []float32 // tokens × width: what is known of each token
	attended []float32 // tokens × 3·width: queries, keys, values; the queries become what attention found
	rows     []float32 // stretch × inner: what comes out of a matrix
	codes    []int16   // stretch × inner: what goes into one
	steps    []float32 // stretch: what 1 in a token's codes is worth
	sums     []int32   // stretch × inner
	scores   []float32 // tokens
}

func (s *scratch) fit(m *model, tokens int) {
	if len(s.rows) == 0 {
		wide := max(m.Inner, 3*m.Width)
		s.rows, s.sums = make([]float32, stretch*wide), make([]int32, stretch*wide)
		s.codes, s.steps = make([]int16, stretch*wide), make([]float32, stretch)
	}
	if tokens > len(s.scores) {
		s.scores = make([]float32, tokens)
		s.hidden, s.attended = make([]float32, tokens*m.Width), make([]float32, 3*tokens*m.Width)
	}
}

// forward sets out to the unit vectors of texts, given as tokens. It looks at ctx before every matrix.
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
			place, placeStep := m.positions.row(position)
			for j := range h {
				h[j] = float32(float32(word[j])*wordStep) + float32(float32(place[j])*placeStep)
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
		s.encode(s.hidden[from*m.Width:to*m.Width], m.Width, m.Width)
		s.multiply(&l.attention, s.attended[3*from*m.Width:3*to*m.Width])
	}
	at := 0
	for _, ids := range texts {
		if err := ctx.Err(); err != nil {
			return err
		}
		for head := range m.Heads {
			attendHead(s.attended[3*at*m.Width:3*(at+len(ids))*m.Width], s.scores[:len(ids)], m.Width, head*m.Width/m.Heads, m.Width/m.Heads)
		}
		at += len(ids)
	}
	return nil
}

// attendHead is attention among the rows of one text, for size numbers of each from first.
func attendHead(rows, scores []float32, width, first, size int) {
	scale := float32(1 / math.Sqrt(float64(size)))
	for i := range scores {
		query := rows[3*width*i+first:][:size]
		most := float32(math.Inf(-1))
		for j := range scores {
			scores[j] = dot(query, rows[3*width*j+width+first:][:size]) * scale
			most = max(most, scores[j])
		}
		sum := float32(0)
		for j := range scores {
			scores[j] = exp(scores[j] - most)
			sum += scores[j]
		}
		clear(query)
		for j := range scores {
			scores[j] /= sum
		}
		gather(query, scores, rows[2*width+first:], 3*width)
	}
}

// gather adds to out the rows of values, which lie stride apart, by their shares.
func gather(out, shares, values []float32, stride int) {
	for ; len(shares) >= 4; shares, values = shares[4:], values[min(4*stride, len(values)):] {
		a, b, c, d := values[:len(out)], values[stride:][:len(out)], values[2*stride:][:len(out)], values[3*stride:][:len(out)]
		p, q, r, s := shares[0], shares[1], shares[2], shares[3]
		for i := range out {
			out[i] += float32(p*a[i]) + float32(q*b[i]) + (float32(r*c[i]) + float32(s*d[i]))
		}
	}
	for j, share := range shares {
		value := values[j*stride:][:len(out)]
		for i := range out {
			out[i] += float32(share * value[i])
		}
	}
}

// think takes what attention found for the tokens from and before to into hidden, and what follows from it.
func (l *layer) think(ctx context.Context, m *model, s *scratch, b *bell, from, to int) error {
	hidden := s.hidden[from*m.Width : to*m.Width]
	if err := ctx.Err(); err != nil {
		return err
	}
	s.encode(s.attended[3*from*m.Width:3*to*m.Width], m.Width, 3*m.Width)
	rows := s.rows[:len(hidden)]
	s.multiply(&l.mixed, rows)
	l.mixedNorm.add(hidden, rows, m.Width, m.Epsilon)
	if err := ctx.Err(); err != nil {
		return err
	}
	s.encode(hidden, m.Width, m.Width)
	inner := s.rows[:(to-from)*m.Inner]
	s.multiply(&l.inner, inner)
	for i, x := range inner {
		inner[i] = b.gelu(x)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.encode(inner, m.Inner, m.Inner)
	s.multiply(&l.outer, rows)
	l.outerNorm.add(hidden, rows, m.Width, m.Epsilon)
	return nil
}

// encode makes codes of the first width numbers of each row of rows, which lie stride apart.
func (s *scratch) encode(rows []float32, width, stride int) {
	s.codes, s.steps = s.codes[:0], s.steps[:0]
	for ; len(rows) > 0; rows = rows[stride:] {
		n := len(s.codes)
		s.codes = s.codes[:n+width]
		s.steps = append(s.steps, quantise(s.codes[n:], rows[:width]))
	}
}

// quantise sets codes to row in steps of what it returns.
func quantise(codes []int16, row []float32) float32 {
	bits := uint32(0) // of the greatest magnitude: those of floats are ordered as the floats are
	for _, x := range row {
		bits = max(bits, math.Float32bits(x)&^(1<<31))
	}
	most := math.Float32frombits(bits)
	if !(most > 1e-30) { // nothing in it, or nothing that is a number
		clear(codes)
		return 0
	}
	perStep := largest / most
	codes = codes[:len(row)]
	for i, x := range row {
		codes[i] = int16(nearest(float32(x * perStep)))
	}
	return most / largest
}

// multiply sets out to d applied to what was encoded, a row for each token.
func (s *scratch) multiply(d *dense, out []float32) {
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
