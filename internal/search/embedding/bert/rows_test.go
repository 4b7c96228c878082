package bert

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRowOperations compares the row operations of this machine with portable Go, bit by bit, for lengths around a step
// and numbers at the edges.
func TestRowOperations(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	edges := []float32{
		0, 1, -1, 0.5, 1.5, 2.5, -0.5, 6, -6, 5.9999995, -5.9999995, 6.0000005, -6.0000005, 1e-30, -1e-38, 88, -88,
	}
	floats := func(n int, scale float32) []float32 {
		out := make([]float32, n)
		for i := range out {
			if out[i] = float32(r.NormFloat64()) * scale; i%5 == 0 {
				out[i] = edges[r.IntN(len(edges))]
			}
		}
		return out
	}
	for _, n := range []int{0, 1, 15, 16, 17, 32, 48, 384, 1536, 1551} {
		row, factors, bias := floats(n, 3), floats(n, 1), floats(n, 1)
		sums := make([]int32, n)
		for i := range sums {
			sums[i] = int32(r.Uint32())
		}
		got, want := make([]float32, n), make([]float32, n)
		dequantizeRow(got, sums, factors, bias, 0.0123)
		dequantizePortable(want, sums, factors, bias, 0.0123)
		equalBits(t, "dequantize", got, want)

		if got, want := greatestMagnitude(row, factors), greatestPortable(row, factors); got != want {
			t.Errorf("greatest of %d: %v, want %v", n, got, want)
		}
		inverse, _ := scaleOf(math.Float32frombits(greatestPortable(row, factors)))
		gotCodes, wantCodes := make([]int16, n), make([]int16, n)
		quantizeCodes(gotCodes, row, factors, inverse)
		codesPortable(wantCodes, row, factors, inverse)
		if !slices.Equal(gotCodes, wantCodes) {
			t.Errorf("codes of %d: %v, want %v", n, gotCodes, wantCodes)
		}

		for i := range wantCodes {
			wantCodes[i] = int16(r.IntN(2*maxActivation+1) - maxActivation)
		}
		gotHighs, gotLows, wantHighs, wantLows := make([]int8, n), make([]int8, n), make([]int8, n), make([]int8, n)
		splitCodes(gotHighs, gotLows, wantCodes)
		splitPortable(wantHighs, wantLows, wantCodes)
		if !slices.Equal(gotHighs, wantHighs) || !slices.Equal(gotLows, wantLows) {
			t.Errorf("halves of %v: %v and %v, want %v and %v", wantCodes, gotHighs, gotLows, wantHighs, wantLows)
		}

		lows := make([]int32, n)
		for i := range lows {
			lows[i] = int32(r.Uint32())
		}
		joinRow(got, sums, lows, factors, 0.0321)
		joinPortable(want, sums, lows, factors, 0.0321)
		equalBits(t, "join", got, want)

		got, want = floats(n, 2), slices.Clone(got)
		for i := range got {
			got[i] = max(got[i], -got[i])
			want[i] = got[i]
		}
		raiseMagnitudes(got, row)
		raisePortable(want, row)
		equalBits(t, "raise", got, want)

		got, want = slices.Clone(row), slices.Clone(row)
		normalizeRow(got, factors, bias, 0.77)
		normalizePortable(want, factors, bias, 0.77)
		equalBits(t, "normalize", got, want)

		got, want = slices.Clone(row), slices.Clone(row)
		greatest := float32(100)
		if n > 0 {
			greatest = max(slices.Max(row), 0)
			got[0], want[0] = -1e30, -1e30
			got[n/2], want[n/2] = greatest-87, greatest-87
		}
		expRow(got, greatest)
		expPortable(want, greatest)
		equalBits(t, "exp", got, want)

		got = append(make([]float32, 0, n+rowStep), row...)
		want = slices.Clone(row)
		expRow(got, greatest)
		expPortable(want, greatest)
		equalBits(t, "exp with room behind it", got, want)

		got, want = slices.Clone(row), slices.Clone(row)
		if n > 20 {
			for i, x := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e20, -1e20} {
				got[i], want[i] = x, x
			}
		}
		geluTable().geluRow(got)
		geluTable().geluPortable(want)
		equalBits(t, "gelu", got, want)
	}
}

// TestQuantizeNothing quantises rows without a greatest number: all codes are 0.
func TestQuantizeNothing(t *testing.T) {
	for _, x := range []float32{0, float32(math.NaN()), float32(math.Inf(1))} {
		codes := slices.Repeat([]int16{9}, 32)
		row := make([]float32, 32)
		row[3] = x
		inverse, scale := quantizeRow(codes, row, slices.Repeat([]float32{1}, 32))
		if inverse != 0 || scale != 0 || slices.ContainsFunc(codes, func(c int16) bool { return c != 0 }) {
			t.Errorf("%v: %v, %v, %v", x, codes, inverse, scale)
		}
	}
}

func equalBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("%s: number %d of %d is %v, want %v", what, i, len(want), got[i], want[i])
		}
	}
}
