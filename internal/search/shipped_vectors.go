package search

import (
	"embed"
	"strings"

	"github.com/memsidecar/memsidecar/internal/search/embedding"
	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// Texts of our own that rankings compare with, one a line, and their vectors by model, which
//
//	go test ./internal/search -run TestShippedVectors -update
//
// makes. The vectors are part of the program because a ranking must not depend on what was embedded since the start.
//
//go:embed typical_memories.txt typical_questions.txt *.vectors
var shipped embed.FS

// Names of the texts, and of the one vector without a text.
const (
	typicalMemoryTexts   = "typical_memories"
	typicalQuestionTexts = "typical_questions"
	promptDirection      = "prompt_direction"
)

// shippedTexts lists the lines of a text.
func shippedTexts(name string) (lines []string) {
	data, err := shipped.ReadFile(name + ".txt")
	if err != nil {
		return nil // it is part of the program
	}
	for line := range strings.Lines(string(data)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// shippedFile is the name of the file with the vectors by a model.
func shippedFile(name, model string) string { return name + "." + model + ".vectors" }

// shippedVectors returns the vectors by a model; none by a model of a server, or by another version.
func shippedVectors(name string, m embedding.Model) *vector.File {
	data, err := shipped.ReadFile(shippedFile(name, m.Name()))
	if err != nil {
		return &vector.File{}
	}
	file, err := vector.Decode(data, m.Identity())
	if err != nil {
		return &vector.File{}
	}
	return file
}
