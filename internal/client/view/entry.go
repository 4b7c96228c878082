package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// ownFields are the fields of the front matter that the view writes. All others are kept as they are.
var ownFields = []string{"name", "description", "type", "category", "tags", "created", "content_at", "id", "revision"}

// entry is what an entry file says.
type entry struct {
	renderedMemory
	id       string
	revision int64
	created  time.Time // the day, zero when it does not say
	front    front
}

// parseEntry reads an entry file. ok is false for a file without front matter, which is none.
func parseEntry(data []byte) (e entry, ok bool) {
	fields, body, ok := splitFront(string(data))
	if !ok || !utf8.Valid(data) {
		return e, false
	}
	e.front, e.id = fields, fields.value("id")
	e.revision, _ = strconv.ParseInt(fields.value("revision"), 10, 64)
	e.created, _ = time.Parse(time.DateOnly, fields.value("created"))
	kind := firstOf(fields.value("type"), fields.inner("metadata", "type"))
	e.renderedMemory = renderedMemory{
		Title: oneLine(fields.value("name")), Description: oneLine(fields.value("description")), Tags: fields.list("tags"),
		Content:  canonical(body),
		Category: strings.ToLower(firstOf(fields.value("category"), kind, memory.General)),
	}
	// A type that was changed beside a category that was not changes the category.
	if own := fields.value("category"); own != "" && kind != "" && kind != memory.EntryType(own) {
		e.Category = strings.ToLower(kind)
	}
	return e, true
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// renderEntry writes the entry file of a memory. What stood in the front matter beside the view's own fields is kept.
func renderEntry(m *memory.Memory, former front) []byte {
	s := entryRendering(m)
	kind := memory.EntryType(m.Category)
	var b strings.Builder
	field := func(name, value string) { b.WriteString(name + ": " + value + "\n") }
	b.WriteString("---\n")
	for _, x := range former {
		if x.name == "" {
			b.WriteString(strings.Join(x.raw, "\n") + "\n")
		}
	}
	field("name", quoteFront(s.Title))
	field("description", quoteFront(s.Description))
	nested := former.find("type") == nil && former.inner("metadata", "type") != ""
	if !nested {
		field("type", kind)
	}
	if m.Category != kind {
		field("category", m.Category)
	}
	if len(m.Tags) > 0 {
		field("tags", quoteList(m.Tags))
	}
	created, known := m.CreatedAt.UTC().Format(time.DateOnly), m.KnownAt().UTC().Format(time.DateOnly)
	if !m.CreatedAt.IsZero() {
		field("created", created)
	}
	if known != created { // a reader who trusts created would take a new text for an old one
		field("content_at", known)
	}
	for _, x := range former {
		if x.name == "" || slices.ContainsFunc(ownFields, func(name string) bool {
			return strings.EqualFold(name, x.name)
		}) {
			continue
		}
		for _, line := range x.raw {
			if nested && strings.EqualFold(x.name, "metadata") && strings.HasPrefix(strings.TrimSpace(line), "type:") {
				line = line[:strings.Index(line, "type:")] + "type: " + kind
			}
			b.WriteString(line + "\n")
		}
	}
	id := quoteFront(m.ID)
	if memory.IsSlug(m.ID) && len(m.ID) == 36 { // a UUID is never read as a number
		id = m.ID
	}
	field("id", id)
	field("revision", strconv.FormatInt(m.Revision, 10))
	b.WriteString("---\n\n" + s.Content + "\n")
	return []byte(b.String())
}

// entryName is the name of a new entry file, another one than those that are taken, on file systems that do not tell
// cases apart, too.
func entryName(m *memory.Memory, taken func(name string) bool) string {
	base := memory.EntryName(m.Category, entryRendering(m).Title, m.ID)
	for n := 1; ; n++ {
		name := base + ".md"
		if n > 1 {
			name = fmt.Sprintf("%s_%d.md", base, n)
		}
		if !taken(strings.ToLower(name)) {
			return name
		}
	}
}

// isEntryName reports whether a file may be an entry file.
func isEntryName(name string) bool {
	return strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, ".") && !strings.EqualFold(name, "MEMORY.md")
}
