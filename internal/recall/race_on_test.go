//go:build race

package recall_test

// stores are made at random in one goroutine, which the race detector makes many times slower and has nothing to find in.
const stores = 50
