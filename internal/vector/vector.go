// Package vector compares directions: a text's embedding becomes one small integer for each dimension, and many of them are
// compared with one at a time. It keeps rows by number and reads and writes the file of them. It does not know what was
// embedded, nor by whom. The integers of a comparison are the same on every machine.
package vector

import (
	"crypto/sha256"
	"math"

	"github.com/memsidecar/memsidecar/internal/kernel"
)

const (
	// MaxDim is the greatest number of dimensions: sums of products of more might not fit.
	MaxDim = kernel.MaxDots

	align   = kernel.Step // codes a row is padded to a multiple of, with zeros
	largest = 127         // code of the greatest component; −128 does not occur
)

// Key identifies the text that a vector is of: 128 bits of its SHA-256.
type Key [16]byte

// KeyOf returns the key of a text.
func KeyOf(text string) (k Key) {
	sum := sha256.Sum256([]byte(text))
	copy(k[:], sum[:])
	return k
}

// Direction is an embedding without its length, as codes from −127 to 127. It is not changed after Quantise.
type Direction struct {
	dim     int
	codes   []int8  // padded
	inverse float64 // 1 / length of codes
}

// Quantise makes a Direction of an embedding. ok is false when it has none, or more dimensions than MaxDim: all zero, or not finite.
func Quantise(v []float32) (d Direction, ok bool) {
	if len(v) == 0 || len(v) > MaxDim {
		return Direction{}, false
	}
	most := 0.0
	for _, c := range v {
		a := math.Abs(float64(c))
		if math.IsNaN(a) || math.IsInf(a, 0) {
			return Direction{}, false
		}
		most = max(most, a)
	}
	if most == 0 {
		return Direction{}, false
	}
	codes := make([]int8, stride(len(v)))
	for i, c := range v {
		codes[i] = int8(math.RoundToEven(float64(c) / most * largest))
	}
	return direction(len(v), codes)
}

// direction keeps codes, which are padded. ok is false when they have none.
func direction(dim int, codes []int8) (d Direction, ok bool) {
	var squares [1]int32
	kernel.Dots(squares[:], codes, codes)
	if squares[0] == 0 {
		return Direction{}, false
	}
	return Direction{dim: dim, codes: codes, inverse: 1 / math.Sqrt(float64(squares[0]))}, true
}

// Dim is the number of dimensions.
func (d Direction) Dim() int { return d.dim }

// Cosine of the angle between two directions, −1 to 1; 0 when their dimensions differ.
func (d Direction) Cosine(o Direction) float64 {
	if d.dim != o.dim || d.dim == 0 {
		return 0
	}
	var sum [1]int32
	kernel.Dots(sum[:], d.codes, o.codes)
	return cosine(sum[0], d.inverse, o.inverse)
}

// cosine only multiplies, so that no machine can fuse an addition into it and round differently.
func cosine(dot int32, a, b float64) float64 { return float64(dot) * a * b }

func stride(dim int) int { return (dim + align - 1) / align * align }
