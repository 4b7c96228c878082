package legacy

import (
	"maps"
	"slices"
)

// Vocabulary lists every word that may be taken for a category, a type or a title.
func Vocabulary() []string {
	return append(slices.Collect(maps.Keys(words)), slices.Collect(maps.Keys(types))...)
}

// Known reports whether a heading says nothing beyond a category or a title.
func Known(heading string) bool {
	_, whole := classify(heading)
	return whole
}
