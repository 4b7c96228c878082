//go:build !nomodel

package encoder

import _ "embed" // for the directive

// modelFile is what tools/encoder made. A string, so that its bytes stay where the program lies, and are in memory once read.
//
//go:embed model.bin
var modelFile string

// modelSHA256 is what tools/encoder said of it.
const modelSHA256 = "7be2b20e06ad0abb34120e239a8b70432baf7fa8c987a146ab0048f1d5fb7b59"
