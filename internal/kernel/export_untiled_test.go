//go:build !amd64

package kernel

func tiled() []Kernel { return nil }
