//go:build nomodel

package bert

const miniLMFile, miniLMTokenWeights, miniLMSHA256, e5File, e5TokenWeights, e5SHA256, e5Centering, e5CenteringSHA256 = "", "", "", "", "", "", "", ""
