package bert

import (
	"context"

	"github.com/memsidecar/memsidecar/internal/process/background"
)

// blockTokens pass through a matrix together: its weights are read from memory once for all of them.
const blockTokens = 64

// scratch has the buffers of one forward pass, reused by the next. It grows to 3 MB for a text of 256 tokens.
type scratch struct {
	hidden   []float32 // tokens × Width: input and output of a layer
	attended []float32 // tokens × 3·Width: queries, keys, values; attention replaces the queries by its output
	others   []float32 // as attended, of the next layer; see halves
	rows     []float32 // blockTokens × Inner: output of a matrix
	codes    []int16   // blockTokens × Inner: quantised input of a matrix
	scales   []float32 // blockTokens: value of code 1 of a token's codes
	sums     []int32   // blockTokens × Inner
	attention
}

// fit makes room for a pass of so many tokens.
func (s *scratch) fit(m *model, tokens int) {
	if len(s.rows) == 0 {
		wide := 3 * m.Width
		for i := range m.layers {
			wide = max(wide, m.layers[i].inner.columns, m.layers[i].outer.columns)
		}
		s.rows, s.sums = make([]float32, blockTokens*wide), make([]int32, blockTokens*wide)
		s.codes, s.scales = make([]int16, blockTokens*wide), make([]float32, blockTokens)
	}
	if tokens*m.Width > len(s.hidden) {
		s.hidden, s.attended = make([]float32, tokens*m.Width), make([]float32, 3*tokens*m.Width)
	}
}

// fitOthers makes room for others of as many tokens as attended has room for.
func (s *scratch) fitOthers() {
	if len(s.others) < len(s.attended) {
		s.others = make([]float32, len(s.attended))
	}
}

// forward passes texts, given as token ids, through all layers and calls emit with the rows of each. It calls p before
// every matrix, and checks ctx before every attention head.
func (m *model) forward(ctx context.Context, p background.Pace, s *scratch, texts [][]int32,
	emit func(text int, rows []float32)) error {
	tokens := 0
	for _, ids := range texts {
		tokens += len(ids)
	}
	s.fit(m, tokens)
	m.embedTokens(s, texts)
	for i := range m.layers {
		l := &m.layers[i]
		if err := l.attend(ctx, p, m, s, texts, tokens); err != nil {
			return err
		}
		for from := 0; from < tokens; from += blockTokens {
			to := min(from+blockTokens, tokens)
			if err := l.feedForward(m, s, s.hidden[from*m.Width:to*m.Width], s.attended[3*from*m.Width:3*to*m.Width],
				func() error { return p.Step(ctx) }); err != nil {
				return err
			}
		}
	}
	at := 0
	for i, ids := range texts {
		emit(i, s.hidden[at*m.Width:(at+len(ids))*m.Width])
		at += len(ids)
	}
	return nil
}

// embedTokens sets hidden to the sum of word and position embeddings, normalised.
func (m *model) embedTokens(s *scratch, texts [][]int32) {
	at := 0
	for _, ids := range texts {
		for position, id := range ids {
			h := s.hidden[at : at+m.Width]
			m.words.row(h, id)
			for j, x := range m.positions[position*m.Width:][:m.Width] {
				h[j] += x
			}
			m.norm.normalize(h, m.Epsilon)
			at += m.Width
		}
	}
}

// attend computes queries, keys and values of all tokens, and the attention of every head and text.
func (l *layer) attend(ctx context.Context, p background.Pace, m *model, s *scratch, texts [][]int32, tokens int) error {
	for from := 0; from < tokens; from += blockTokens {
		if err := p.Step(ctx); err != nil {
			return err
		}
		to := min(from+blockTokens, tokens)
		s.apply(&l.attention, s.hidden[from*m.Width:to*m.Width], m.Width, s.attended[3*from*m.Width:3*to*m.Width])
	}
	at := 0
	for _, ids := range texts {
		for head := range m.Heads {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.attendHead(s.attended[3*at*m.Width:3*(at+len(ids))*m.Width], m.Width, head*len(m.ones), m.ones, 0, len(ids))
		}
		at += len(ids)
	}
	return nil
}

// feedForward is the rest of a layer for the tokens of which hidden and attended are: the output of attention, then the
// feed-forward network. It calls pause before every matrix, and returns its error.
func (l *layer) feedForward(m *model, s *scratch, hidden, attended []float32, pause func() error) error {
	if err := pause(); err != nil {
		return err
	}
	rows := s.rows[:len(hidden)]
	s.apply(&l.attentionOut, attended, 3*m.Width, rows)
	l.attentionNorm.addAndNormalize(hidden, rows, m.Width, m.Epsilon)
	if err := pause(); err != nil {
		return err
	}
	inner := s.rows[:len(hidden)/m.Width*m.Inner]
	s.apply(&l.inner, hidden, m.Width, inner)
	geluTable().geluRow(inner)
	if err := pause(); err != nil {
		return err
	}
	// A few columns have values far beyond the others and are kept unquantised, as in LLM.int8 (Dettmers et al.
	// 2022).
	l.outliers.addProducts(hidden, inner, m.Inner)
	s.apply(&l.outer, inner, m.Inner, rows)
	l.outerNorm.addAndNormalize(hidden, rows, m.Width, m.Epsilon)
	return nil
}
