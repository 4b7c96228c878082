package view

import "github.com/memsidecar/memsidecar/internal/memory"

// For tests of the package's own parts.

// Cut returns the texts of the pieces of a list, and the version that it names.
func Cut(text string) (texts []string, serial int64) {
	pieces, serial, _ := parseBlocks(text)
	for _, p := range pieces {
		texts = append(texts, p.text)
	}
	return texts, serial
}

var (
	RenderEntry = renderEntry
	Slug        = memory.EntrySlug
	Canon       = canonical
	NameOf      = titleFrom
)

// ParseEntry returns what an entry file says.
func ParseEntry(data []byte) (title, about, category, content string, tags []string, ok bool) {
	e, ok := parseEntry(data)
	return e.Title, e.Description, e.Category, e.Content, e.Tags, ok
}

// RenderAgain renders an entry file over another one, whose unknown fields it keeps.
var RenderAgain = func(data []byte) (front, bool) {
	f, _, ok := splitFront(string(data))
	return f, ok
}
