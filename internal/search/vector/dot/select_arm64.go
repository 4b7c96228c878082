package dot

// bestTiles returns the tiles of Products, nil when this machine cannot run them.
func bestTiles() *kernels {
	if hasTiles() {
		return usualTiles
	}
	return nil
}
