package dot_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/search/vector/dot"
)

// unpack returns the codes of packed rows, as PackedDots documents them.
func unpack(rows []uint8) []int8 {
	out := make([]int8, 4*len(rows))
	for at := range out {
		block, dim := at/dot.PackedStep, at%dot.PackedStep
		out[at] = int8(rows[32*block+dim%32] >> (2 * (dim / 32)) & 3)
	}
	return out
}

func samePacked(t *testing.T, q []int8, rows []uint8) {
	t.Helper()
	want := exact(unpack(rows), len(q), q)
	got := make([]int32, 4*len(rows)/len(q))
	dot.PackedDots(got, q, rows)
	if diff := cmp.Diff(want, got); diff != "" && len(want) > 0 {
		t.Errorf("%d rows of %d (-want +got):\n%s", len(got), len(q), diff)
	}
	for _, kern := range dot.Kernels() {
		for i := range rows { // one row at a time, too
			if row := rows[i:]; i%(len(q)/4) == 0 {
				one := make([]int32, 1)
				kern.Packed(one, q, row[:len(q)/4])
				if n := i / (len(q) / 4); one[0] != want[n] {
					t.Errorf("%s: row %d of %d is %d, want %d", kern.Name, n, len(q), one[0], want[n])
				}
			}
		}
	}
}

func randomBytes(r *rand.Rand, n int) []uint8 {
	out := make([]uint8, n)
	for i := range out {
		out[i] = uint8(r.Uint32())
	}
	return out
}

func TestPacked(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, k := range []int{128, 256, 384, 1024, dot.MaxPackedDots} {
		for _, n := range []int{0, 1, 2, 5} {
			samePacked(t, fill[int8](r, k, 127), randomBytes(r, n*k/4))
		}
		for _, code := range []uint8{0, 0xff, 0xaa} {
			samePacked(t, slices.Repeat([]int8{127}, k), slices.Repeat([]uint8{code}, k/4))
			samePacked(t, slices.Repeat([]int8{-128}, k), slices.Repeat([]uint8{code}, k/4))
		}
	}
}

func FuzzPacked(f *testing.F) {
	f.Add(uint8(0), []byte{0, 255, 127, 128, 85})
	f.Add(uint8(2), []byte{200, 3})
	f.Fuzz(func(t *testing.T, blocks uint8, data []byte) {
		k := dot.PackedStep * (1 + int(blocks)%8)
		q, rows := make([]int8, k), make([]uint8, 3*k/4)
		data = append(data, 1)
		for i := range q {
			q[i] = int8(data[i%len(data)])
		}
		for i := range rows {
			rows[i] = data[(i*7+3)%len(data)]
		}
		samePacked(t, q, rows)
	})
}

// BenchmarkPacked compares 12 tokens of a query with 10 tokens of each of 30 memories.
func BenchmarkPacked(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	rows, q, out := randomBytes(r, 30*10*96), fill[int8](r, 384, 127), make([]int32, 300)
	for _, kern := range dot.Kernels() {
		b.Run(kern.Name, func(b *testing.B) {
			for b.Loop() {
				for range 12 {
					kern.Packed(out, q, rows)
				}
			}
		})
	}
}
