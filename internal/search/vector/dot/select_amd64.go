package dot

var vnniTiles = &kernels{products4VNNI, products2VNNI, products1VNNI, dotsVNNI}

// bestTiles returns the fastest tiles of Products that this machine can run, nil when there are none.
func bestTiles() *kernels {
	switch {
	case hasTilesVNNI():
		return vnniTiles
	case hasTiles():
		return usualTiles
	}
	return nil
}
