//go:build amd64 || arm64

package dot

func tiled() []Kernel {
	if !hasTiles() {
		return nil
	}
	kernels := []Kernel{{tilesName, dotsTiled, usualTiles.products, packedTiled}}
	if best := bestTiles(); best != usualTiles {
		kernels = append(kernels, Kernel{"best", dotsTiled, best.products, packedTiled})
	}
	return kernels
}
