//go:build nomodel

package encoder

const (
	modelFile   = ""
	modelSHA256 = ""
)
