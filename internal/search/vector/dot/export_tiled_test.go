//go:build amd64 || arm64

package dot

func tiled() []Kernel {
	if !hasTiles() {
		return nil
	}
	all := []Kernel{{tilesName, dotsOf(usualTiles), usualTiles.products, packedTiled}}
	if best := bestTiles(); best != usualTiles {
		all = append(all, Kernel{"best", dotsOf(best), best.products, packedTiled})
	}
	return all
}

func dotsOf(k *kernels) func(out []int32, q, rows []int8) {
	return func(out []int32, q, rows []int8) { k.dots(&out[0], &rows[0], &q[0], len(out), len(q)) }
}
