package bert

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// NewE5 returns multilingual-e5-small with a vocabulary of English and Chinese (Wang et al., "Multilingual E5 Text
// Embeddings", 2024). It is read when it is first used, which takes some 100 ms. Error: ErrNoModel.
func NewE5() (*Encoder, error) {
	if e5File == "" {
		return nil, ErrNoModel
	}
	identity := fmt.Sprintf("multilingual-e5-small %s, centering %s, %s", e5SHA256, e5CenteringSHA256,
		tokenSetIdentity(e5TokenWeights))
	e := newEncoder("e5", identity, func() (*model, error) {
		defer releasePages(e5File)
		return parseE5(e5File, e5Centering, e5TokenWeights)
	})
	e.knowsHan = true
	return e, nil
}

const (
	e5Magic     = "MSEMB1\n\x00"
	e5MaxTokens = 256 // of a text; the model has positions for 512, but time grows with the square
	// e5PrefixTokens is how many tokens a prefix becomes, such as "▁query" and ":".
	e5PrefixTokens = 2

	blockWeights = 32                 // weights of a 4-bit block
	blockBytes   = 2 + blockWeights/2 // a scale of 16 bits, then two weights a byte
)

// e5Header is the header of the file, as docs/format.md describes it.
type e5Header struct {
	Arch struct {
		Layers      int     `json:"layers"`
		Hidden      int     `json:"hidden"`
		Heads       int     `json:"heads"`
		FFN         int     `json:"ffn"`
		Vocabulary  int     `json:"vocab"`
		Positions   int     `json:"maxpos"`
		Epsilon     float32 `json:"eps"`
		QueryPrefix string  `json:"query_prefix"`
		TextPrefix  string  `json:"passage_prefix"`
	} `json:"arch"`
	Tokenizer struct {
		Pieces       int     `json:"n"`
		Start        int32   `json:"bos"`
		End          int32   `json:"eos"`
		Unknown      int32   `json:"unk"`
		UnknownScore float32 `json:"unk_score"`
	} `json:"tok"`
	Tensors map[string]struct {
		Type   string `json:"dtype"`
		Shape  []int  `json:"shape"`
		Offset int    `json:"offset"`
		Size   int    `json:"size"`
	} `json:"tensors"`
}

// parseE5 reads a model file. Matrices of layers are expanded from 4 bits to 8, so that the kernels can use them;
// word embeddings stay in the file.
func parseE5(file, centeringFile, weights string) (*model, error) {
	r, err := newTensorReader(file)
	if err != nil {
		return nil, err
	}
	arch, tok := &r.header.Arch, &r.header.Tokenizer
	m := &model{
		config: config{
			Layers: arch.Layers, Width: arch.Hidden, Inner: arch.FFN, Heads: arch.Heads,
			MaxTokens: min(arch.Positions, e5MaxTokens), Epsilon: arch.Epsilon,
		},
		prefix: e5PrefixTokens, queryPrefix: arch.QueryPrefix, textPrefix: arch.TextPrefix,
		importance: bytesOf(weights),
	}
	if !m.valid() || arch.Vocabulary < 4 || arch.Vocabulary != tok.Pieces || len(weights) != arch.Vocabulary ||
		min(tok.Start, tok.End, tok.Unknown) < 0 || int(max(tok.Start, tok.End, tok.Unknown)) >= tok.Pieces {
		return nil, fmt.Errorf("%w: its numbers do not belong together", errDamaged)
	}
	m.words = q4Embeddings{m.Width, r.q4("emb.word", arch.Vocabulary, m.Width)}
	m.positions = r.floats("emb.pos", arch.Positions*m.Width)
	tokenType := r.floats("emb.type", 2*m.Width)[:m.Width] // of two types, all tokens have the first
	m.norm = r.layerNorm("emb.ln", m.Width)
	for i := range m.Layers {
		m.layers = append(m.layers, r.layer(fmt.Sprintf("l%d.", i), m.Width, m.Inner))
	}
	m.tokenizer = r.unigram()
	if r.err != nil {
		return nil, r.err
	}
	m.positions = m.positions[: m.MaxTokens*m.Width : m.MaxTokens*m.Width]
	for i := range m.positions {
		m.positions[i] += tokenType[i%m.Width]
	}
	if m.pooled, m.token, err = parseCentering(centeringFile, m.Width); err != nil {
		return nil, err
	}
	return m.finish(), nil
}

// parseCentering reads what is subtracted from vectors: see docs/format.md.
func parseCentering(file string, width int) (pooled, token centering, err error) {
	var c struct {
		Mean            []float32   `json:"mean"`
		Directions      [][]float32 `json:"directions"`
		TokenMean       []float32   `json:"token_mean"`
		TokenDirections [][]float32 `json:"token_directions"`
	}
	if err := json.Unmarshal(bytesOf(file), &c); err != nil {
		return pooled, token, fmt.Errorf("%w: its centering cannot be read", errDamaged)
	}
	for _, v := range slices.Concat([][]float32{c.Mean, c.TokenMean}, c.Directions, c.TokenDirections) {
		if len(v) != width {
			return pooled, token, fmt.Errorf("%w: its centering is for another width", errDamaged)
		}
	}
	return centering{c.Mean, c.Directions}, centering{c.TokenMean, c.TokenDirections}, nil
}

// tensorReader returns the tensors of a file by name. After an error everything it returns is empty.
type tensorReader struct {
	file   string
	header e5Header
	err    error
}

// newTensorReader reads the header, which is JSON behind a magic number and its length. The file is part of
// the program; damage means a wrong build, and is an error, not a source of wrong vectors.
func newTensorReader(file string) (*tensorReader, error) {
	r := &tensorReader{file: file}
	size := 0
	if len(file) >= len(e5Magic)+4 {
		size = int(binary.LittleEndian.Uint32(bytesOf(file[len(e5Magic):])))
	}
	if !strings.HasPrefix(file, e5Magic) || size > len(file)-len(e5Magic)-4 {
		return nil, fmt.Errorf("%w: it is no model file of this version", errDamaged)
	}
	if err := json.Unmarshal(bytesOf(file[len(e5Magic)+4:][:size]), &r.header); err != nil {
		return nil, fmt.Errorf("%w: its header cannot be read", errDamaged)
	}
	return r, nil
}

// raw returns the bytes of a tensor of a type; size −1 admits any size.
func (r *tensorReader) raw(name, dtype string, size int) string {
	t, ok := r.header.Tensors[name]
	if r.err == nil && (!ok || t.Type != dtype || size >= 0 && t.Size != size || min(t.Offset, t.Size) < 0 ||
		t.Offset > len(r.file)-t.Size) {
		r.err = fmt.Errorf("%w: it has no %s of the right size", errDamaged, name)
	}
	if r.err != nil {
		return ""
	}
	return r.file[t.Offset : t.Offset+t.Size]
}

// floats returns n floats; after an error they are zeros.
func (r *tensorReader) floats(name string, n int) []float32 {
	if raw := r.raw(name, "f32", 4*n); r.err == nil {
		return decodeFloats(raw)
	}
	return make([]float32, n)
}

// q4 returns the blocks of a matrix of 4-bit weights.
func (r *tensorReader) q4(name string, rows, columns int) string {
	return r.raw(name, "q4", rows*columns/blockWeights*blockBytes)
}

func (r *tensorReader) layerNorm(name string, n int) layerNorm {
	return layerNorm{r.floats(name+".w", n), r.floats(name+".b", n)}
}

// layer reads one layer, whose tensors have this prefix.
func (r *tensorReader) layer(prefix string, width, inner int) layer {
	return layer{
		attention:    r.linear(width, width, prefix+"q", prefix+"k", prefix+"v"),
		attentionOut: r.linear(width, width, prefix+"ao"), attentionNorm: r.layerNorm(prefix+"aln", width),
		inner: r.linear(inner, width, prefix+"fi"),
		outer: r.linear(width, inner, prefix+"fo"), outerNorm: r.layerNorm(prefix+"oln", width),
	}
}

// linear reads matrices of rows × columns, one below the other, and requantises their 4-bit blocks to 8 bits with one
// scale a row.
func (r *tensorReader) linear(rows, columns int, names ...string) linear {
	l := linear{factors: slices.Repeat([]float32{1}, columns)}
	l.columns, l.codes = columns, make([]int8, 0, len(names)*rows*columns)
	row := make([]float32, columns)
	for _, name := range names {
		l.bias = append(l.bias, r.floats(name+".b", rows)...)
		blocks := r.q4(name+".w", rows, columns)
		for ; len(blocks) > 0; blocks = blocks[columns/blockWeights*blockBytes:] {
			expandQ4(row, blocks)
			greatest := float32(0)
			for _, x := range row {
				greatest = max(greatest, x, -x)
			}
			scale, inverse := greatest/127, float32(0)
			if greatest > 0 {
				inverse = 127 / greatest
			}
			l.scales = append(l.scales, scale)
			for _, x := range row {
				l.codes = append(l.codes, int8(nearest(float32(x*inverse))))
			}
		}
	}
	if r.err == nil {
		l.moveOffHeap()
	}
	return l
}

// unigram reads the tokenizer.
func (r *tensorReader) unigram() *unigram {
	tok := r.header.Tokenizer
	text := r.raw("tok.bytes", "u8", -1)
	offsets := bytesOf(r.raw("tok.offs", "u32", 4*(tok.Pieces+1)))
	scores := r.floats("tok.score", tok.Pieces)
	normal := bytesOf(r.raw("tok.norm", "u32", -1))
	if r.err != nil {
		return nil
	}
	pieces := make([]string, tok.Pieces)
	for i := range pieces {
		from, to := binary.LittleEndian.Uint32(offsets[4*i:]), binary.LittleEndian.Uint32(offsets[4*i+4:])
		if from > to || int64(to) > int64(len(text)) {
			r.err = fmt.Errorf("%w: its pieces overlap", errDamaged)
			return nil
		}
		pieces[i] = text[from:to]
	}
	u := newUnigram(pieces, scores, decodeNormalization(normal))
	u.start, u.end, u.unknown, u.unknownScore = tok.Start, tok.End, tok.Unknown, tok.UnknownScore
	return u
}

// decodeNormalization reads triples of a code point, the number of its replacements, and these.
func decodeNormalization(raw []byte) map[rune]string {
	out := map[rune]string{}
	for len(raw) >= 8 {
		r, n := rune(binary.LittleEndian.Uint32(raw)), int(binary.LittleEndian.Uint32(raw[4:]))
		raw = raw[8:]
		var replacement strings.Builder
		for ; n > 0 && len(raw) >= 4; n-- {
			replacement.WriteRune(rune(binary.LittleEndian.Uint32(raw)))
			raw = raw[4:]
		}
		out[r] = replacement.String()
	}
	return out
}

// q4Embeddings are word embeddings in blocks of 4-bit weights.
type q4Embeddings struct {
	width  int
	blocks string
}

// row expands one token's embedding; the table stays in 4-bit blocks, since a text touches few of its 63,499
// rows.
func (e q4Embeddings) row(dst []float32, id int32) {
	expandQ4(dst, e.blocks[int(id)*e.width/blockWeights*blockBytes:])
}

// expandQ4 sets dst to the weights of the first blocks: the format q4_0 of ggml. A block is its scale, a 16-bit
// float, then 16 bytes with the first 16 weights in the low halves and the others in the high halves; a weight is
// (half − 8) · scale. That product is exact.
func expandQ4(dst []float32, blocks string) {
	for ; len(dst) > 0; dst, blocks = dst[blockWeights:], blocks[blockBytes:] {
		scale := decodeHalf(uint16(blocks[0]) | uint16(blocks[1])<<8)
		for i, b := range bytesOf(blocks[2:blockBytes]) {
			dst[i] = float32(int(b&15)-8) * scale
			dst[i+blockWeights/2] = float32(int(b>>4)-8) * scale
		}
	}
}

// decodeHalf converts a finite 16-bit float (IEEE 754 binary16).
func decodeHalf(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	if exponent == 0 { // subnormal: fraction · 2^−24, exact
		return math.Float32frombits(math.Float32bits(float32(fraction)/(1<<24)) | sign)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
