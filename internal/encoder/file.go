package encoder

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"unsafe"
)

const (
	magic     = "memsidecar encoder 1\n\x00\x00\x00"
	alignment = 64 // of every block, from the start of the file
	checkSize = 4
)

var errDamaged = errors.New("the embedding model in this program is damaged; install the program again")

// header of a model file, as docs/format.md describes it. What only people read is left out.
type header struct {
	Name      string           `json:"name"`
	Layers    int              `json:"layers"`
	Width     int              `json:"width"`
	Inner     int              `json:"inner"`
	Heads     int              `json:"heads"`
	FineInner int              `json:"fine_inner"`
	FineOuter int              `json:"fine_outer"`
	Apart     int              `json:"apart"`
	Tokens    int              `json:"tokens"`
	Epsilon   float32          `json:"epsilon"`
	Words     int              `json:"words"`
	WordBytes int              `json:"word_bytes"`
	Special   map[string]int32 `json:"special"`
}

// check that the pass can do with these numbers.
func (h *header) check() error {
	switch {
	case min(h.Layers, h.Width, h.Inner, h.Heads, h.Words, h.WordBytes) < 1 || h.Tokens < 2 ||
		min(h.FineInner, h.FineOuter, h.Apart) < 0 || h.FineInner > h.Width || max(h.FineOuter, h.Apart) > h.Inner,
		h.FineInner%32 != 0 || h.FineOuter%32 != 0,
		h.Width%32 != 0 || h.Inner%32 != 0 || h.Width%h.Heads != 0 || h.Width/h.Heads%32 != 0,
		max(h.Layers, h.Tokens) > 1<<10, max(h.Width+h.FineInner, h.Inner+h.FineOuter) > longest, max(h.Words, h.WordBytes) > 1<<24, h.Epsilon < 0:
		return fmt.Errorf("%w: its numbers do not belong together", errDamaged)
	}
	for _, name := range []string{"UNK", "CLS", "SEP"} {
		if _, there := h.Special[name]; !there {
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

// matrix has a row for each output, or for each word.
type matrix struct {
	columns int
	codes   []int8    // in the file, read only
	steps   []float32 // what 1 in a row's codes is worth
}

func (m *matrix) row(i int) ([]int8, float32) {
	return m.codes[i*m.columns : (i+1)*m.columns], m.steps[i]
}

// evening gives a row mean 0 and deviation 1, and then its own weights.
type evening struct{ weight, bias []float32 }

// dense takes a token's numbers, each times its factor, to others.
type dense struct {
	fine    []uint32  // which numbers follow all of them a second time, for what is left of their weights
	factors []float32 // as many as columns
	matrix
	bias []float32
}

// apart are columns of a matrix that are kept as they are, because they would spoil the others: those have zeros and the factor 0 in their place.
type apart struct {
	columns []uint32
	weights []float32 // column by column
}

type layer struct {
	attention dense // queries, keys and values of a token
	mixed     dense
	mixedNorm evening
	inner     dense
	outer     dense
	apart     apart // of outer
	outerNorm evening
}

type model struct {
	header
	vocabulary *vocabulary
	words      matrix
	positions  []float32 // tokens × width
	norm       evening
	layers     []layer
	ones       []float32 // factors that change nothing, for a head
}

// parse reads a model file and keeps parts of it in use. It reads every byte once, for the checksum.
func parse(file string) (*model, error) {
	if len(file) < len(magic)+4+checkSize || !strings.HasPrefix(file, magic) {
		return nil, fmt.Errorf("%w: it is no model file of this version", errDamaged)
	}
	end := len(file) - checkSize
	if got, want := crc32.ChecksumIEEE(bytesOf(file[:end])), binary.LittleEndian.Uint32(bytesOf(file[end:])); got != want {
		return nil, fmt.Errorf("%w: its checksum is %08x instead of %08x", errDamaged, got, want)
	}
	b := &blocks{file: file[:end], at: len(magic) + 4}
	size := int(binary.LittleEndian.Uint32(bytesOf(file[len(magic):])))
	m := &model{}
	if err := json.Unmarshal([]byte(b.next(size)), &m.header); err != nil {
		return nil, fmt.Errorf("%w: its header cannot be read", errDamaged)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	m.vocabulary = newVocabulary(strings.Split(b.block(m.WordBytes), "\n"), m.Special, m.Tokens)
	m.words = b.matrix(m.Words, m.Width)
	m.positions = b.floats(m.Tokens * m.Width)
	m.norm = b.norm(m.Width)
	for range m.Layers {
		m.layers = append(m.layers, layer{
			attention: b.dense(3*m.Width, m.Width),
			mixed:     b.dense(m.Width, m.Width), mixedNorm: b.norm(m.Width),
			inner: b.fine(m.FineInner, m.Inner, m.Width),
			outer: b.fine(m.FineOuter, m.Width, m.Inner), apart: b.apart(m.Apart, m.Width, m.Inner), outerNorm: b.norm(m.Width),
		})
	}
	m.ones = slices.Repeat([]float32{1}, m.Width/m.Heads)
	b.pad()
	if b.short || b.at != end || m.vocabulary.size() != m.Words {
		return nil, fmt.Errorf("%w: its length does not fit its header", errDamaged)
	}
	return m, nil
}

// blocks reads one block after another.
type blocks struct {
	file  string
	at    int
	short bool // something was missing; everything is empty from then on
}

func (b *blocks) next(n int) string {
	if b.short || n > len(b.file)-b.at {
		b.short = true
		return ""
	}
	b.at += n
	return b.file[b.at-n : b.at]
}

func (b *blocks) pad() { b.next((alignment - b.at%alignment) % alignment) }

func (b *blocks) block(n int) string {
	b.pad()
	return b.next(n)
}

func (b *blocks) floats(n int) []float32 {
	raw := bytesOf(b.block(4 * n))
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

func (b *blocks) matrix(rows, columns int) matrix {
	raw := b.block(rows * columns)
	return matrix{
		columns: columns,
		codes:   unsafe.Slice((*int8)(unsafe.Pointer(unsafe.StringData(raw))), len(raw)), // never written to
		steps:   b.floats(rows),
	}
}

func (b *blocks) dense(rows, columns int) dense { return b.fine(0, rows, columns) }

// fine reads a dense with n columns twice.
func (b *blocks) fine(n, rows, columns int) dense {
	fine := b.columns(n, columns)
	return dense{fine, b.floats(columns + n), b.matrix(rows, columns+n), b.floats(rows)}
}

func (b *blocks) apart(n, rows, columns int) apart {
	return apart{b.columns(n, columns), b.floats(n * rows)}
}

// columns are n numbers of columns.
func (b *blocks) columns(n, columns int) []uint32 {
	raw := bytesOf(b.block(4 * n))
	out := make([]uint32, len(raw)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(raw[4*i:])
		b.short = b.short || out[i] >= uint32(columns)
	}
	return out
}

func (b *blocks) norm(n int) evening { return evening{b.floats(n), b.floats(n)} }

// bytesOf is []byte(s) without the copy: 25 MB of it would be on the heap.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
