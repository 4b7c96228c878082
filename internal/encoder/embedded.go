//go:build !nomodel

package encoder

import _ "embed" // for the directive

// modelFile is what tools/encoder made. A string, so that its bytes stay where the program lies, and are in memory once read.
//
//go:embed model.bin
var modelFile string

// modelSHA256 is what tools/encoder said of it.
const modelSHA256 = "79945b119ad7e6e3f6eeee52bff581a1e16c87810b9e97127f02146c0c3b36a6"
