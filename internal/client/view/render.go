package view

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// renderedMemory is what a view says of a memory.
type renderedMemory struct {
	Title, Description, Category, Content string
	Tags                                  []string
}

const (
	maxNameChars        = 60
	maxDescriptionChars = 150
)

// entryRendering is a memory as an entry file shows it.
func entryRendering(m *memory.Memory) renderedMemory {
	s := renderedMemory{Title: oneLine(m.Title), Description: oneLine(descriptionOf(m)), Category: m.Category, Content: canonical(m.Content),
		Tags: m.Tags}
	if s.Title == "" {
		s.Title = titleFrom(m.Content)
	}
	if s.Description == "" {
		s.Description = truncate(oneLine(m.Content), maxDescriptionChars)
	}
	return s
}

// itemRendering is a memory as a list shows it.
func itemRendering(m *memory.Memory) renderedMemory {
	return renderedMemory{Title: oneLine(m.Title), Category: m.Category, Content: canonical(m.Content)}
}

// descriptionOf returns the description of m, or that in its structured data, where it was before memories had one.
func descriptionOf(m *memory.Memory) string {
	if m.Description() != "" || len(m.StructuredData()) == 0 {
		return m.Description()
	}
	var data struct {
		Description string `json:"description"`
	}
	if json.Unmarshal(m.StructuredData(), &data) != nil {
		return ""
	}
	return data.Description
}

// ownDescription returns a description, or "" for one that only repeats the beginning of the content or the title.
func ownDescription(about, title, content string) string {
	if about == truncate(oneLine(content), maxDescriptionChars) || about == title || about == titleFrom(content) {
		return ""
	}
	return about
}

// rendering returns the hashes of the texts, for comparison with later versions of the file.
func (s renderedMemory) rendering(file string, rev int64) rendering {
	return rendering{
		File: file, Rev: rev, Title: shortHash(s.Title), Description: shortHash(s.Description), Category: shortHash(s.Category),
		Tags: hashList(s.Tags), Content: shortHash(s.Content),
	}
}

// merge returns what theirs, made from base, changes in ours, the present state of m. nil when nothing. both is set
// when the content was changed on both sides: it is not in the change then. In other fields what the file says
// counts; the operation keeps what was there.
func merge(m *memory.Memory, theirs, ours renderedMemory, base rendering) (c *Change, both bool) {
	out := Change{Kind: Update, ID: m.ID, Revision: m.Revision}
	changed := false
	field := func(to **string, value string) {
		*to = &value
		changed = true
	}
	if t := shortHash(theirs.Content); t != base.Content && theirs.Content != ours.Content {
		if both = shortHash(ours.Content) != base.Content; !both {
			field(&out.Content, theirs.Content)
		}
	}
	if shortHash(theirs.Title) != base.Title && theirs.Title != ours.Title {
		field(&out.Title, theirs.Title)
	}
	if shortHash(theirs.Category) != base.Category && theirs.Category != ours.Category {
		field(&out.Category, theirs.Category)
	}
	if hashList(theirs.Tags) != base.Tags && !slices.Equal(theirs.Tags, ours.Tags) {
		out.Tags = &theirs.Tags
		changed = true
	}
	if shortHash(theirs.Description) != base.Description && theirs.Description != ours.Description {
		content := m.Content
		if out.Content != nil {
			content = *out.Content
		}
		field(&out.Description, ownDescription(theirs.Description, m.Title, content))
	}
	if !changed {
		return nil, both
	}
	return &out, both
}

// newMemory makes a new memory of what a file says.
func (s renderedMemory) newMemory() *memory.Memory {
	m := &memory.Memory{Category: s.Category, Content: s.Content, Title: s.Title, Tags: slices.Clone(s.Tags),
		Salience: memory.DefaultSalience, Confidence: 1}
	if s.Title == titleFrom(s.Content) {
		m.Title = ""
	}
	m.SetDescription(ownDescription(s.Description, m.Title, m.Content))
	return m
}

// violation says why a file's words cannot be a memory, "" when they can.
func (s renderedMemory) violation() string {
	var check memory.Check
	check.Text("content", s.Content, memory.MaxContent, true)
	check.Text("title", s.Title, memory.MaxTitle, false)
	check.Text("description", s.Description, memory.MaxDescription, false)
	check.Slug("category", s.Category)
	if len(s.Tags) > memory.MaxTags {
		check.Add("tags", "TOO_MANY", "are %d; the limit is %d", len(s.Tags), memory.MaxTags)
	}
	for _, t := range s.Tags {
		check.Text("tags", t, memory.MaxTag, true)
	}
	if err := check.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// canonical is a text as both sides write it: ends of lines are alike, and no white space stands around it or at the
// ends of lines.
func canonical(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// titleFrom is the name of a memory without a title: the beginning of its first line.
func titleFrom(content string) string {
	first, _, _ := strings.Cut(canonical(content), "\n")
	return truncate(oneLine(strings.TrimLeft(first, "#*->• \t")), maxNameChars)
}

// oneLine puts a text on one line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }),
		" ")
}

// truncate shortens a text to so many characters, at a space where there is one near.
func truncate(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	cut := string([]rune(s)[:limit-1])
	if at := strings.LastIndexByte(cut, ' '); at > len(cut)*3/4 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:，；：、") + "…"
}
