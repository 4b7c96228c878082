// Package vector stores and compares quantised embeddings: one signed byte a dimension for a pooled vector (scalar
// quantisation), two bits a dimension for the token vectors of late interaction. It keeps vectors by number, reads
// and writes their file, and returns the same results on every machine. It does not know texts or models.
package vector

import (
	"crypto/sha256"
	"math"

	"github.com/memsidecar/memsidecar/internal/search/vector/dot"
)

const (
	// MaxDim is the greatest number of dimensions of a Quantized: dot products of more could overflow.
	MaxDim = dot.MaxDots

	rowAlign = dot.Step // rows are padded with zeros to a multiple of this
	maxCode  = 127      // code of the greatest component; −128 does not occur
)

// Key identifies a text: the first 128 bits of its SHA-256.
type Key [16]byte

// KeyOf returns the key of a text.
func KeyOf(text string) (k Key) {
	sum := sha256.Sum256([]byte(text))
	copy(k[:], sum[:])
	return k
}

// Quantized is the direction of an embedding as codes from −127 to 127; the length is lost. It is immutable. The zero
// value has no dimensions, and its cosine with everything is 0.
type Quantized struct {
	dim         int
	codes       []int8  // padded to a multiple of rowAlign
	inverseNorm float64 // 1 / length of codes
}

// Quantize scales an embedding so that its greatest component becomes ±127, and rounds. ok is false when the
// embedding is empty, longer than MaxDim, all zero or not finite.
func Quantize(v []float32) (q Quantized, ok bool) {
	if len(v) == 0 || len(v) > MaxDim {
		return Quantized{}, false
	}
	codes := make([]int8, paddedDim(len(v)))
	if !quantizeInto(codes, v) {
		return Quantized{}, false
	}
	return newQuantized(len(v), codes)
}

// quantizeInto sets codes to v, scaled and rounded. It reports false when v is all zero or not finite.
func quantizeInto(codes []int8, v []float32) bool {
	greatest := 0.0
	for _, c := range v {
		a := math.Abs(float64(c))
		if math.IsNaN(a) || math.IsInf(a, 0) {
			return false
		}
		greatest = max(greatest, a)
	}
	if greatest == 0 {
		return false
	}
	for i, c := range v {
		codes[i] = int8(math.RoundToEven(float64(c) / greatest * maxCode))
	}
	return true
}

// newQuantized takes over codes, which are padded. ok is false when all of them are 0.
func newQuantized(dim int, codes []int8) (q Quantized, ok bool) {
	var squares [1]int32
	dot.Dots(squares[:], codes, codes)
	if squares[0] == 0 {
		return Quantized{}, false
	}
	return Quantized{dim: dim, codes: codes, inverseNorm: 1 / math.Sqrt(float64(squares[0]))}, true
}

// FromCodes is the vector of these codes, which it copies; see AppendCodes. ok is false when all of them are 0, and when
// there are none or more than MaxDim.
func FromCodes(data []byte) (q Quantized, ok bool) {
	if len(data) == 0 || len(data) > MaxDim {
		return Quantized{}, false
	}
	codes := make([]int8, paddedDim(len(data)))
	for i, c := range data {
		codes[i] = int8(c)
	}
	return newQuantized(len(data), codes)
}

// AppendCodes appends the codes to dst, one signed byte a dimension.
func (q Quantized) AppendCodes(dst []byte) []byte {
	for _, c := range q.codes[:q.dim] {
		dst = append(dst, byte(c))
	}
	return dst
}

// Dim is the number of dimensions.
func (q Quantized) Dim() int { return q.dim }

// Cosine of the angle between two vectors, −1 to 1; 0 when their dimensions differ.
func (q Quantized) Cosine(o Quantized) float64 {
	if q.dim != o.dim || q.dim == 0 {
		return 0
	}
	var sum [1]int32
	dot.Dots(sum[:], q.codes, o.codes)
	return cosine(sum[0], q.inverseNorm, o.inverseNorm)
}

// cosine only multiplies: a compiler cannot fuse it with an addition and round differently on some machines.
func cosine(dot int32, inverseNorm1, inverseNorm2 float64) float64 {
	return float64(dot) * inverseNorm1 * inverseNorm2
}

// paddedDim is the length of a row of dim codes.
func paddedDim(dim int) int { return (dim + rowAlign - 1) / rowAlign * rowAlign }
