//go:build !race

package recall_test

const stores = 200
