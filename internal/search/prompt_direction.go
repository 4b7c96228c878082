package search

import (
	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// Some prompts need what is known of a person or a project: questions about it, and tasks that are done in somebody's
// way. Others need nothing: small talk, "continue", general knowledge, tasks that are complete in themselves. The
// direction from these to those in the space of e5 tells them apart whatever a store holds. It is the weights of a
// logistic regression of the vectors of testdata/prompts, which
//
//	go test ./internal/search -run TestFitGate -v -fit-gate ../../bench/retrieval -update
//
// makes. It is the one vector of its file.
var promptDirectionKey = vector.KeyOf("from prompts that need no memory to prompts that need one")

// loadPromptDirection returns the direction; the zero vector when it is of another version of the model.
func loadPromptDirection(models []embedding.Model) vector.Quantized {
	for _, m := range models {
		if m.Name() != "e5" {
			continue
		}
		direction, _ := shippedVectors(promptDirection, m).Get(promptDirectionKey)
		return direction
	}
	return vector.Quantized{}
}
