package memory

import (
	"strings"
	"unicode"
)

// entryTypes are the types that agents know, by category. A type that is no key here is its own category.
var entryTypes = map[string]string{
	Preferences: "user", Facts: "project", Tasks: "project", General: "project",
	Procedural: "feedback", Reflections: "feedback",
	"user": "user", "feedback": "feedback", "project": "project", "reference": "reference",
}

// EntryType is the type of an entry file of a category.
func EntryType(category string) string {
	if t := entryTypes[category]; t != "" {
		return t
	}
	return "project"
}

// slugChars is how long a slug may be.
const slugChars = 60

// EntrySlug makes the middle of a file name of a title: letters and digits of any script stay, in lower case.
func EntrySlug(title string) string {
	var b strings.Builder
	n, gap := 0, false
	for _, r := range strings.ToLower(title) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.In(r, unicode.Mn, unicode.Mc) && r != '-' {
			gap = true
			continue
		}
		if n >= slugChars || b.Len() > 180 {
			break
		}
		if gap && n > 0 {
			b.WriteByte('_')
			n++
		}
		gap = false
		b.WriteRune(r)
		n++
	}
	return strings.Trim(b.String(), "_-")
}

// EntryName is the name of the entry file of a memory, without ".md": its type and its title, or its id when the title
// holds no letter. A title that begins with the type does not repeat it.
func EntryName(category, title, id string) string {
	kind, name := EntryType(category), EntrySlug(title)
	if name == "" {
		name = EntrySlug(id)
	}
	if strings.HasPrefix(name, kind+"_") {
		return name
	}
	return kind + "_" + name
}
