//go:build amd64 || arm64

package kernel

func tiled() []Kernel {
	if !hasTiles() {
		return nil
	}
	return []Kernel{{tilesName, dotsTiled, productsTiled}}
}
