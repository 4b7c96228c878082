// Package memsidecar is the root of the module. It holds no code: its tests watch over the shape of
// the whole tree, which package may import which and where package comments stand.
// The daemon is cmd/memsidecar, its API proto/memsidecar/v1.
package memsidecar
