package dot_test

import (
	"fmt"
	"testing"

	"github.com/memsidecar/memsidecar/internal/search/vector/dot"
)

// BenchmarkProducts reads 10 MB of weights, as a model does, and reports 10⁹ multiply-adds a second.
func BenchmarkProducts(b *testing.B) {
	for _, kern := range dot.Kernels() {
		for _, k := range []int{384, 1536} {
			for _, t := range []int{1, 3, 16, 64, 128} {
				if kern.Name == dot.Portable.Name && t != 16 {
					continue
				}
				b.Run(fmt.Sprintf("%s/k=%d/t=%d", kern.Name, k, t), func(b *testing.B) {
					benchProducts(b, kern.Products, k, t)
				})
			}
		}
	}
	if !dot.HasPanels(384) {
		return
	}
	for _, k := range []int{384, 1536} {
		for _, t := range []int{1, 10, 14, 64} { // no order of weights changes the time
			b.Run(fmt.Sprintf("panels/k=%d/t=%d", k, t), func(b *testing.B) { benchProducts(b, dot.PanelProducts, k, t) })
		}
	}
}

func benchProducts(b *testing.B, products func(out []int32, weights []int8, k int, inputs []int16), k, t int) {
	const matrices = 18
	n := 1536 * 384 / k
	weights, inputs, out := make([][]int8, matrices), make([]int16, t*k), make([]int32, t*n)
	for i := range weights {
		weights[i] = make([]int8, n*k)
		for j := range weights[i] {
			weights[i][j] = int8(j)
		}
	}
	i := 0
	for b.Loop() {
		products(out, weights[i%matrices], k, inputs)
		i++
	}
	b.ReportMetric(float64(b.N)*float64(n*k*t)/1e9/b.Elapsed().Seconds(), "GMAC/s")
}

func BenchmarkDots(b *testing.B) {
	for _, kern := range dot.Kernels() {
		for _, n := range []int{1, 512} {
			b.Run(fmt.Sprintf("%s/rows=%d", kern.Name, n), func(b *testing.B) {
				q, rows, out := make([]int8, 384), make([]int8, 384*n), make([]int32, n)
				for b.Loop() {
					kern.Dots(out, q, rows)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/row")
			})
		}
	}
}
