//go:build linux

package dot_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/memsidecar/memsidecar/internal/search/vector/dot"
)

// fenced returns room for n numbers that begins right behind a page that must not be touched, or ends right before one.
func fenced[T int8 | uint8 | int16 | int32](t *testing.T, n int, atEnd bool) []T {
	t.Helper()
	page := os.Getpagesize()
	size := n * int(unsafe.Sizeof(T(0)))
	inner := (size + page - 1) / page * page
	region, err := unix.Mmap(-1, 0, inner+2*page, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(region); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mprotect(region[page:page+inner], unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	first := page
	if atEnd {
		first += inner - size
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&region[first])), n)
}

// TestStaysInside crashes when a kernel reads or writes outside its arguments.
func TestStaysInside(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, kern := range dot.Kernels() {
		for _, atEnd := range []bool{false, true} {
			for _, size := range []struct{ rows, k, inputs int }{{1, 32, 1}, {4, 32, 1}, {4, 32, 4}, {5, 64, 2},
				{7, 96, 7}, {9, 1536, 5}, {32, 32, 16}, {64, 544, 13}, {67, 544, 19}} {
				name := fmt.Sprintf("%s, %d × %d, %d inputs, at the end %v", kern.Name, size.rows, size.k, size.inputs,
					atEnd)
				weights := fenced[int8](t, size.rows*size.k, atEnd)
				inputs := fenced[int16](t, size.inputs*size.k, atEnd)
				copy(weights, fill[int8](r, len(weights), 127))
				copy(inputs, fill[int16](r, len(inputs), dot.MaxInput))
				got := fenced[int32](t, size.rows*size.inputs, atEnd)
				kern.Products(got, weights, size.k, inputs)
				if !slices.Equal(got, exact(weights, size.k, inputs)) {
					t.Errorf("%s: products differ", name)
				}
				if dot.HasPanels(size.rows) {
					panels := fenced[int8](t, size.rows*size.k, atEnd)
					dot.IntoPanels(panels, weights, size.k)
					clear(got)
					dot.PanelProducts(got, panels, size.k, inputs)
					if !slices.Equal(got, exact(weights, size.k, inputs)) {
						t.Errorf("%s: products of panels differ", name)
					}
				}
				q := fenced[int8](t, size.k, atEnd)
				copy(q, fill[int8](r, len(q), 127))
				kern.Dots(got[:size.rows], q, weights)
				if !slices.Equal(got[:size.rows], exact(weights, size.k, q)) {
					t.Errorf("%s: dots differ", name)
				}
				codes, long := fenced[uint8](t, size.rows*size.k, atEnd), fenced[int8](t, 4*size.k, atEnd)
				copy(codes, randomBytes(r, len(codes)))
				kern.Packed(got[:size.rows], long, codes)
			}
		}
	}
}
