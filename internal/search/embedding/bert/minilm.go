package bert

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"unsafe"

	"github.com/memsidecar/memsidecar/internal/search/vector/dot"
)

// NewMiniLM returns all-MiniLM-L6-v2, which knows English. It is read, and checked, when it is first used. Error:
// ErrNoModel.
func NewMiniLM() (*Encoder, error) {
	if miniLMFile == "" {
		return nil, ErrNoModel
	}
	identity := fmt.Sprintf("all-MiniLM-L6-v2 %s, %s", miniLMSHA256, tokenSetIdentity(miniLMTokenWeights))
	return newEncoder("minilm", identity, func() (*model, error) {
		defer releasePages(miniLMFile)
		return parseMiniLM(miniLMFile, miniLMTokenWeights)
	}), nil
}

const (
	miniLMMagic     = "memsidecar encoder 1\n\x00\x00\x00"
	miniLMAlignment = 64 // of every block, from the start of the file
	checksumSize    = 4
)

// miniLMHeader is the header of the file, as docs/format.md describes it, without what only people read.
type miniLMHeader struct {
	config
	RepeatedInner int              `json:"fine_inner"` // inputs of an inner layer that come twice
	RepeatedOuter int              `json:"fine_outer"` // inputs of an outer layer that come twice
	Outliers      int              `json:"apart"`      // outlier columns of an outer layer
	Words         int              `json:"words"`
	WordBytes     int              `json:"word_bytes"`
	Special       map[string]int32 `json:"special"`
}

// check returns an error when the numbers do not belong together.
func (h *miniLMHeader) check() error {
	if !h.valid() || min(h.Words, h.WordBytes) < 1 || min(h.RepeatedInner, h.RepeatedOuter, h.Outliers) < 0 ||
		h.RepeatedInner%32 != 0 || h.RepeatedOuter%32 != 0 || h.RepeatedInner > h.Width ||
		max(h.RepeatedOuter, h.Outliers) > h.Inner ||
		max(h.Width+h.RepeatedInner, h.Inner+h.RepeatedOuter) > maxColumns || max(h.Words, h.WordBytes) > 1<<24 {
		return fmt.Errorf("%w: its numbers do not belong together", errDamaged)
	}
	for _, name := range []string{"UNK", "CLS", "SEP"} {
		if _, ok := h.Special[name]; !ok {
			return fmt.Errorf("%w: it has no [%s]", errDamaged, name)
		}
	}
	for name, id := range h.Special {
		if id < 0 || int(id) >= h.Words {
			return fmt.Errorf("%w: [%s] is none of its words", errDamaged, name)
		}
	}
	return nil
}

// parseMiniLM reads a model file, whose weights stay in use in place where that is fastest. It reads every byte once,
// for the checksum.
func parseMiniLM(file, weights string) (*model, error) {
	if len(file) < len(miniLMMagic)+4+checksumSize || !strings.HasPrefix(file, miniLMMagic) {
		return nil, fmt.Errorf("%w: it is no model file of this version", errDamaged)
	}
	end := len(file) - checksumSize
	if got, want := crc32.ChecksumIEEE(bytesOf(file[:end])), binary.LittleEndian.Uint32(
		bytesOf(file[end:])); got != want {
		return nil, fmt.Errorf("%w: its checksum is %08x instead of %08x", errDamaged, got, want)
	}
	b := &blockReader{file: file[:end], at: len(miniLMMagic) + 4}
	size := int(binary.LittleEndian.Uint32(bytesOf(file[len(miniLMMagic):])))
	var h miniLMHeader
	if err := json.Unmarshal([]byte(b.next(size)), &h); err != nil {
		return nil, fmt.Errorf("%w: its header cannot be read", errDamaged)
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	tokens := newWordPiece(strings.Split(b.block(h.WordBytes), "\n"), h.Special)
	m := &model{config: h.config, tokenizer: tokens, importance: bytesOf(weights)}
	m.words = int8Embeddings{b.matrix(h.Words, h.Width)}
	m.positions = b.floats(h.MaxTokens * h.Width)
	m.norm = b.layerNorm(h.Width)
	for range h.Layers {
		m.layers = append(m.layers, layer{
			attention:    b.linear(0, 3*h.Width, h.Width),
			attentionOut: b.linear(0, h.Width, h.Width), attentionNorm: b.layerNorm(h.Width),
			inner: b.linear(h.RepeatedInner, h.Inner, h.Width),
			outer: b.linear(h.RepeatedOuter, h.Width, h.Inner), outliers: b.outliers(h.Outliers, h.Width, h.Inner),
			outerNorm: b.layerNorm(h.Width),
		})
	}
	b.align()
	// Nothing may be left over: the lengths are derived from the header, so this checks them all at once.
	if b.short || b.at != end || tokens.size() != h.Words || len(weights) != h.Words {
		return nil, fmt.Errorf("%w: its length does not fit its header", errDamaged)
	}
	return m.finish(), nil
}

// int8Embeddings are word embeddings of 8 bits.
type int8Embeddings struct{ matrix }

// row expands one token's embedding.
func (e int8Embeddings) row(dst []float32, id int32) {
	scale := e.scales[id]
	for i, code := range e.codes[int(id)*e.columns:][:e.columns] {
		dst[i] = float32(code) * scale
	}
}

// blockReader reads one block of a file after another.
type blockReader struct {
	file  string
	at    int
	short bool // the file was too short; every block is empty from then on
}

// next returns the following n bytes, and "" from the first that is missing on: the caller asks once, at the
// end.
func (b *blockReader) next(n int) string {
	if b.short || n > len(b.file)-b.at {
		b.short = true
		return ""
	}
	b.at += n
	return b.file[b.at-n : b.at]
}

func (b *blockReader) align() { b.next((miniLMAlignment - b.at%miniLMAlignment) % miniLMAlignment) }

func (b *blockReader) block(n int) string {
	b.align()
	return b.next(n)
}

func (b *blockReader) floats(n int) []float32 { return decodeFloats(b.block(4 * n)) }

func (b *blockReader) matrix(rows, columns int) matrix {
	return matrix{columns: columns, codes: int8sOf(b.block(rows * columns)), scales: b.floats(rows)}
}

// linear reads a layer of which so many inputs are repeated.
func (b *blockReader) linear(repeated, rows, columns int) linear {
	inputs := b.columnNumbers(repeated, columns)
	l := linear{inputs, b.floats(columns + repeated), b.matrix(rows, columns+repeated), b.floats(rows)}
	if !b.short && dot.HasPanels(rows) { // else they are used in place
		l.moveOffHeap()
	}
	return l
}

func (b *blockReader) outliers(n, rows, columns int) outlierColumns {
	return outlierColumns{b.columnNumbers(n, columns), b.floats(n * rows)}
}

// columnNumbers reads n numbers of columns.
func (b *blockReader) columnNumbers(n, columns int) []uint32 {
	raw := bytesOf(b.block(4 * n))
	out := make([]uint32, len(raw)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(raw[4*i:])
		b.short = b.short || out[i] >= uint32(columns)
	}
	return out
}

func (b *blockReader) layerNorm(n int) layerNorm { return layerNorm{b.floats(n), b.floats(n)} }

// decodeFloats copies little-endian floats.
func decodeFloats(s string) []float32 {
	raw := bytesOf(s)
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

// bytesOf is []byte(s) without the copy, which would put a model of 25 MB on the heap. The bytes must not be written
// to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// int8sOf is bytesOf for signed bytes.
func int8sOf(s string) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.StringData(s))), len(s))
}
