package dot

var vnniTiles = &productTiles{products4VNNI, products2VNNI, products1VNNI}

// bestTiles returns the fastest tiles of Products that this machine can run, nil when there are none.
func bestTiles() *productTiles {
	switch {
	case hasTilesVNNI():
		return vnniTiles
	case hasTiles():
		return usualTiles
	}
	return nil
}
