package markdownv1

import (
	"maps"
	"slices"
)

// Vocabulary lists every word that may be taken for a category, a type or a title.
func Vocabulary() []string {
	return append(slices.Collect(maps.Keys(headingWords)), slices.Collect(maps.Keys(entryTypes))...)
}

// IsVocabulary reports whether a heading says nothing beyond a category or a title.
func IsVocabulary(heading string) bool {
	_, whole := classify(heading)
	return whole
}
