//go:build !nomodel

package bert

import _ "embed" // for the directives

// The models, as tools/encoder made them. They are strings, so that they are used in place, as pages of the program's
// file.
var (
	//go:embed minilm.bin
	miniLMFile string
	//go:embed e5.bin
	e5File string
	//go:embed e5_centering.json
	e5Centering string
)

// Weights of tokens, one byte by token id: see TestTokenWeights, which computes them.
var (
	//go:embed minilm_token_weights.bin
	miniLMTokenWeights string
	//go:embed e5_token_weights.bin
	e5TokenWeights string
)

// Checksums of the files, part of the identities.
const (
	miniLMSHA256      = "79945b119ad7e6e3f6eeee52bff581a1e16c87810b9e97127f02146c0c3b36a6"
	e5SHA256          = "01333f5f2955182b4bf5d89f6e9f99e68ebccacd8ebb97076a115b94f5b5e505"
	e5CenteringSHA256 = "3745beacabecd3695fe0ac147d9f67c8935b87c87c8170cd7c8813720306006a"
)
