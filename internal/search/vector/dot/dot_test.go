package dot_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/search/vector/dot"
)

// exact adds up in 64 bits, one product after the other.
func exact[T int8 | int16](weights []int8, k int, inputs []T) []int32 {
	var out []int32
	for in := range slices.Chunk(inputs, k) {
		for row := range slices.Chunk(weights, k) {
			sum := int64(0)
			for j := range row {
				sum += int64(row[j]) * int64(in[j])
			}
			if sum != int64(int32(sum)) {
				panic("a sum has more than 32 bits")
			}
			out = append(out, int32(sum))
		}
	}
	return out
}

func sameDots(t *testing.T, q, rows []int8) {
	t.Helper()
	want := exact(rows, len(q), q)
	if len(want) == 0 {
		return
	}
	for _, kern := range dot.Kernels() {
		got := make([]int32, len(rows)/len(q))
		kern.Dots(got, q, rows)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: products of %d rows of %d (-want +got):\n%s", kern.Name, len(got), len(q), diff)
		}
	}
}

func sameProducts(t *testing.T, weights []int8, k int, inputs []int16) {
	t.Helper()
	want := exact(weights, k, inputs)
	if len(want) == 0 {
		return
	}
	for _, kern := range dot.Kernels() {
		got := make([]int32, len(want))
		kern.Products(got, weights, k, inputs)
		if !slices.Equal(want, got) {
			t.Errorf("%s: %d rows of %d with %d inputs (-want +got):\n%s", kern.Name, len(weights)/k, k, len(inputs)/k,
				cmp.Diff(want, got))
		}
	}
	if n := len(weights) / k; dot.HasPanels(n) {
		panels, got := make([]int8, len(weights)), make([]int32, len(want))
		dot.IntoPanels(panels, weights, k)
		dot.PanelProducts(got, panels, k, inputs)
		if !slices.Equal(want, got) {
			t.Errorf("panels: %d rows of %d with %d inputs (-want +got):\n%s", n, k, len(inputs)/k, cmp.Diff(want, got))
		}
	}
}

func fill[T int8 | int16](r *rand.Rand, n int, most T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(r.IntN(2*int(most)+1) - int(most))
	}
	return out
}

// TestExtremes has sums as great as they become.
func TestExtremes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		weight int8
		input  int16
	}{
		{"largest", 127, dot.MaxInput},
		{"opposite", -127, dot.MaxInput},
		{"smallest", -128, -dot.MaxInput},
		{"zero", 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, k := range []int{32, 64, 96, 384, dot.MaxProducts} {
				sameProducts(t, slices.Repeat([]int8{tt.weight}, 7*k), k, slices.Repeat([]int16{tt.input}, 7*k))
				sameProducts(t, slices.Repeat([]int8{tt.weight}, 32*k), k, slices.Repeat([]int16{tt.input}, 17*k))
			}
			code := int8(max(-128, min(127, tt.input)))
			for _, k := range []int{32, 64, 96, 384, dot.MaxDots} {
				sameDots(t, slices.Repeat([]int8{code}, k), slices.Repeat([]int8{tt.weight}, 7*k))
			}
		})
	}
}

// TestSizes has every remainder of a block of rows and of inputs, and several blocks of both.
func TestSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 14 {
		for inputs := range 10 {
			sameProducts(t, fill[int8](r, n*64, 127), 64, fill[int16](r, inputs*64, dot.MaxInput))
		}
		sameDots(t, fill[int8](r, 64, 127), fill[int8](r, n*64, 127))
	}
	sameProducts(t, fill[int8](r, 9*1536, 127), 1536, fill[int16](r, 67*1536, dot.MaxInput))
	sameProducts(t, fill[int8](r, 50*384, 127), 384, fill[int16](r, 6*384, dot.MaxInput))
	// Panels of 32 rows: every number of inputs that pass by one together, and more.
	for inputs := range 30 {
		sameProducts(t, fill[int8](r, 64*96, 127), 96, fill[int16](r, inputs*96, dot.MaxInput))
	}
	for _, k := range []int{32, 544, 1536, dot.MaxProducts} {
		sameProducts(t, fill[int8](r, 96*k, 127), k, fill[int16](r, 21*k, dot.MaxInput))
		sameProducts(t, fill[int8](r, 67*k, 127), k, fill[int16](r, 5*k, dot.MaxInput))
	}
}

// TestChosen compares what callers get.
func TestChosen(t *testing.T) {
	for _, kern := range dot.Kernels() {
		t.Log("this machine has", kern.Name)
	}
	r := rand.New(rand.NewPCG(3, 4))
	weights, inputs, q := fill[int8](r, 10*96, 127), fill[int16](r, 3*96, dot.MaxInput), fill[int8](r, 96, 127)
	got := make([]int32, 30)
	dot.Products(got, weights, 96, inputs)
	if diff := cmp.Diff(exact(weights, 96, inputs), got); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
	got = got[:10]
	dot.Dots(got, q, weights)
	if diff := cmp.Diff(exact(weights, 96, q), got); diff != "" {
		t.Errorf("dots (-want +got):\n%s", diff)
	}
	dot.Dots(nil, q, nil)
	dot.Products(nil, weights, 96, nil)
	dot.Products(nil, nil, 96, inputs)
}

func TestSizesThatDoNotFit(t *testing.T) {
	for name, call := range map[string]func(){
		"dots: nothing":        func() { dot.Dots(nil, nil, nil) },
		"dots: not a multiple": func() { dot.Dots(make([]int32, 1), make([]int8, 33), make([]int8, 33)) },
		"dots: too long":       func() { dot.Dots(nil, make([]int8, dot.MaxDots+32), nil) },
		"dots: rows missing":   func() { dot.Dots(make([]int32, 2), make([]int8, 32), make([]int8, 32)) },
		"products: no length":  func() { dot.Products(nil, nil, 0, nil) },
		"products: negative":   func() { dot.Products(nil, nil, -32, nil) },
		"products: not a multiple": func() {
			dot.Products(make([]int32, 1), make([]int8, 40), 40, make([]int16, 40))
		},
		"products: too long": func() { dot.Products(nil, nil, dot.MaxProducts+32, nil) },
		"products: part of a row": func() {
			dot.Products(make([]int32, 1), make([]int8, 33), 32, make([]int16, 32))
		},
		"products: part of an input": func() {
			dot.Products(make([]int32, 1), make([]int8, 32), 32, make([]int16, 63))
		},
		"products: no room": func() {
			dot.Products(make([]int32, 3), make([]int8, 64), 32, make([]int16, 64))
		},
		"products: room for too many": func() {
			dot.Products(make([]int32, 5), make([]int8, 64), 32, make([]int16, 64))
		},
		"panels: not a multiple": func() { dot.IntoPanels(make([]int8, 32*40), make([]int8, 32*40), 40) },
		"panels: too few rows":   func() { dot.IntoPanels(make([]int8, 31*32), make([]int8, 31*32), 32) },
		"panels: no room":        func() { dot.IntoPanels(make([]int8, 31*32), make([]int8, 32*32), 32) },
		"panels: products of too few rows": func() {
			dot.PanelProducts(make([]int32, 31), make([]int8, 31*32), 32, make([]int16, 32))
		},
		"panels: part of an input": func() {
			dot.PanelProducts(make([]int32, 32), make([]int8, 32*32), 32, make([]int16, 33))
		},
		"panels: no room for sums": func() {
			dot.PanelProducts(make([]int32, 31), make([]int8, 32*32), 32, make([]int16, 32))
		},
		"packed: nothing": func() { dot.PackedDots(nil, nil, nil) },
		"packed: not a multiple": func() {
			dot.PackedDots(make([]int32, 1), make([]int8, 96), make([]uint8, 24))
		},
		"packed: too long": func() { dot.PackedDots(nil, make([]int8, dot.MaxPackedDots+128), nil) },
		"packed: rows missing": func() {
			dot.PackedDots(make([]int32, 2), make([]int8, 128), make([]uint8, 32))
		},
		"products: room and no inputs": func() { dot.Products(make([]int32, 2), make([]int8, 64), 32, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
}

func TestNoAllocation(t *testing.T) {
	out, q, rows, inputs := make([]int32, 16), make([]int8, 64), make([]int8, 8*64), make([]int16, 2*64)
	long, packed := make([]int8, 128), make([]uint8, 128)
	panels, wide := make([]int8, 32*64), make([]int32, 2*32)
	if n := testing.AllocsPerRun(10, func() {
		dot.Dots(out[:8], q, rows)
		dot.Products(out, rows, 64, inputs)
		dot.PackedDots(out[:4], long, packed)
		if dot.HasPanels(32) {
			dot.PanelProducts(wide, panels, 64, inputs)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzDots(f *testing.F) {
	f.Add(uint8(1), []byte{1, 2, 255, 128})
	f.Add(uint8(12), slices.Repeat([]byte{129, 127, 3}, 1000))
	f.Add(uint8(3), slices.Repeat([]byte{128}, 2000))
	f.Fuzz(func(t *testing.T, blocks uint8, data []byte) {
		k := dot.Step * (1 + int(blocks)%16)
		data = slices.Concat(data, make([]byte, 2*k))
		codes := make([]int8, len(data)/k*k)
		for i := range codes {
			codes[i] = int8(data[i])
		}
		sameDots(t, codes[:k], codes[k:])
	})
}

// FuzzProducts has the given values over and over again, in as many rows as are asked for.
func FuzzProducts(f *testing.F) {
	f.Add(uint8(0), uint8(1), uint8(1), []byte{1, 2, 255, 128})
	f.Add(uint8(11), uint8(13), uint8(7), []byte{129, 127, 0xff, 0x1f}) // −127, 127, MaxInput
	f.Add(uint8(63), uint8(4), uint8(3), []byte{127, 0x80})
	f.Add(uint8(1), uint8(20), uint8(18), []byte{0x01, 0xe0, 129})
	f.Add(uint8(17), uint8(65), uint8(27), []byte{0x01, 0xe0, 129, 7})
	f.Add(uint8(17), uint8(64), uint8(27), []byte{0x01, 0xe0, 129, 7})
	f.Fuzz(func(t *testing.T, blocks, rows, many uint8, data []byte) {
		k := dot.Step * (1 + int(blocks)%(dot.MaxProducts/dot.Step))
		n, inputs := int(rows)%70, int(many)%35
		data = append(data, 1, 2, 3)
		w, in := make([]int8, n*k), make([]int16, inputs*k)
		for i := range w {
			w[i] = int8(data[i%len(data)])
		}
		for i := range in {
			at := 2 * i % (len(data) - 1)
			in[i] = min(dot.MaxInput, max(-dot.MaxInput, int16(binary.LittleEndian.Uint16(data[at:]))))
		}
		sameProducts(t, w, k, in)
	})
}
