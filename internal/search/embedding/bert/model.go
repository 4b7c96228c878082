package bert

import (
	"math"
	"slices"
)

// config has the dimensions of a model.
type config struct {
	Layers    int     `json:"layers"`
	Width     int     `json:"width"` // of a token's vector
	Inner     int     `json:"inner"` // of the feed-forward network
	Heads     int     `json:"heads"`
	MaxTokens int     `json:"tokens"` // of a text, special tokens included
	Epsilon   float32 `json:"epsilon"`
}

// valid reports whether forward can handle these dimensions.
func (c *config) valid() bool {
	return min(c.Layers, c.Width, c.Inner, c.Heads) > 0 && c.MaxTokens >= 4 && c.Epsilon >= 0 &&
		c.Width%128 == 0 && c.Inner%32 == 0 && c.Width%c.Heads == 0 && c.Width/c.Heads%32 == 0 &&
		max(c.Layers, c.MaxTokens) <= 1<<10 && max(c.Width, c.Inner) <= maxColumns
}

// model is a loaded model.
type model struct {
	config
	tokenizer tokenizer
	words     wordEmbeddings
	positions []float32 // MaxTokens × Width, the embedding of token type 0 included
	norm      layerNorm
	layers    []layer
	ones      []float32 // factors that change nothing, one for each number of a head

	prefix      int       // tokens of a text, after the first, that belong to its prefix
	queryPrefix string    // put before queries
	textPrefix  string    // put before stored texts
	importance  []uint8   // by token id: tokenWeight × 255
	pooled      centering // of pooled vectors
	token       centering // of token vectors
}

// finish completes a model whose parts were read.
func (m *model) finish() *model {
	m.ones = slices.Repeat([]float32{1}, m.Width/m.Heads)
	return m
}

// tokenizer splits a text into tokens.
type tokenizer interface {
	// tokenize returns the ids of a text's tokens between those of its start and end, limit at most; the rest is cut
	// off.
	tokenize(text string, limit int) []int32
	// size is the number of different tokens.
	size() int
}

// wordEmbeddings is the table of the tokens' vectors.
type wordEmbeddings interface {
	// row sets dst to the vector of a token.
	row(dst []float32, id int32)
}

// layer is one transformer layer with normalisation after each part (post-LN), as in BERT.
type layer struct {
	attention     linear // to queries, keys and values
	attentionOut  linear
	attentionNorm layerNorm
	inner         linear
	outer         linear
	outliers      outlierColumns // of outer
	outerNorm     layerNorm
}

// layerNorm shifts a row to mean 0, scales it to deviation 1, and applies its own weights: Ba, Kiros and Hinton,
// "Layer Normalization", 2016.
type layerNorm struct{ weight, bias []float32 }

// addAndNormalize adds residual to each row of hidden, then normalises the row.
func (n *layerNorm) addAndNormalize(hidden, residual []float32, width int, epsilon float32) {
	for at := 0; at < len(hidden); at += width {
		row, residual := hidden[at:at+width], residual[at:at+width]
		for i := range row {
			row[i] += residual[i]
		}
		n.normalize(row, epsilon)
	}
}

// normalize applies the layer norm to one row, whose length is a multiple of 4.
func (n *layerNorm) normalize(row []float32, epsilon float32) {
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
	factor := 1 / float32(math.Sqrt(float64(dotFloat(row, row)/count+epsilon)))
	normalizeRow(row, n.weight, n.bias, factor)
}

// centering moves the vectors of a model apart whose cosines are all high (anisotropy): it subtracts their mean and
// removes their strongest common directions, as in Mu and Viswanath, "All-but-the-Top", 2018. The zero value changes
// nothing.
type centering struct {
	mean       []float32
	directions [][]float32 // orthonormal
}

// apply centers v, whose length is a multiple of 4.
func (c *centering) apply(v []float32) {
	if c.mean == nil {
		return
	}
	for i, x := range c.mean {
		v[i] -= x
	}
	shares := make([]float32, len(c.directions))
	for k, d := range c.directions {
		shares[k] = dotFloat(v, d)
	}
	for k, d := range c.directions {
		for i, x := range d {
			v[i] -= float32(shares[k] * x)
		}
	}
}

// meanPool sets out to the mean of rows, which are as long, scaled to length 1.
func meanPool(out, rows []float32) {
	clear(out)
	for ; len(rows) > 0; rows = rows[len(out):] {
		for i, x := range rows[:len(out)] {
			out[i] += x
		}
	}
	if length := float32(math.Sqrt(float64(dotFloat(out, out)))); length > 0 {
		for i := range out {
			out[i] /= length
		}
	}
}
