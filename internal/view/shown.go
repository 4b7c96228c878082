package view

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// shown is what a view says of a memory.
type shown struct {
	Title, About, Category, Content string
	Tags                            []string
}

// aboutKey is the member of structured_data that holds a description which is not simply the beginning of the content.
const aboutKey = "description"

const (
	nameChars  = 60
	aboutChars = 150
)

// showEntry is a memory as an entry file shows it.
func showEntry(m *memory.Memory) shown {
	s := shown{Title: oneLine(m.Title), About: oneLine(aboutOf(m)), Category: m.Category, Content: canon(m.Content), Tags: m.Tags}
	if s.Title == "" {
		s.Title = nameOf(m.Content)
	}
	if s.About == "" {
		s.About = clip(oneLine(m.Content), aboutChars)
	}
	return s
}

// showItem is a memory as a list shows it.
func showItem(m *memory.Memory) shown {
	return shown{Title: oneLine(m.Title), Category: m.Category, Content: canon(m.Content)}
}

func aboutOf(m *memory.Memory) string {
	var data map[string]any
	if len(m.StructuredData) == 0 || json.Unmarshal(m.StructuredData, &data) != nil {
		return ""
	}
	text, _ := data[aboutKey].(string)
	return text
}

// withAbout returns the structured data of m with another description; one that says nothing new is left out.
func withAbout(m *memory.Memory, about string) json.RawMessage {
	data := map[string]json.RawMessage{}
	if len(m.StructuredData) > 0 && json.Unmarshal(m.StructuredData, &data) != nil {
		return m.StructuredData
	}
	delete(data, aboutKey)
	if text := oneLine(m.Content); about != "" && about != clip(text, aboutChars) && about != m.Title && about != nameOf(m.Content) {
		data[aboutKey] = json.RawMessage(jsonText(about))
	}
	if len(data) == 0 {
		return nil
	}
	out, err := json.Marshal(data)
	if err != nil {
		return m.StructuredData
	}
	return out
}

func (s shown) face(file string, rev int64) face {
	return face{
		File: file, Rev: rev, Title: mark(s.Title), About: mark(s.About), Category: mark(s.Category), Tags: markList(s.Tags), Content: mark(s.Content),
	}
}

// merge returns what theirs, made from base, changes in ours, the present state of m. nil when nothing. both is set when the content was changed
// on both sides: it is not in the change then. In other fields what the file says counts; the operation keeps what was there.
func merge(m *memory.Memory, theirs, ours shown, base face) (c *Change, both bool) {
	out := Change{Kind: Update, ID: m.ID, Revision: m.Revision}
	changed := false
	field := func(to **string, value string) {
		*to = &value
		changed = true
	}
	if t := mark(theirs.Content); t != base.Content && theirs.Content != ours.Content {
		if both = mark(ours.Content) != base.Content; !both {
			field(&out.Content, theirs.Content)
		}
	}
	if mark(theirs.Title) != base.Title && theirs.Title != ours.Title {
		field(&out.Title, theirs.Title)
	}
	if mark(theirs.Category) != base.Category && theirs.Category != ours.Category {
		field(&out.Category, theirs.Category)
	}
	if markList(theirs.Tags) != base.Tags && !slices.Equal(theirs.Tags, ours.Tags) {
		out.Tags = &theirs.Tags
		changed = true
	}
	if mark(theirs.About) != base.About && theirs.About != ours.About {
		after := m.Clone()
		if out.Content != nil {
			after.Content = *out.Content
		}
		data := withAbout(after, theirs.About)
		out.StructuredData = &data
		changed = true
	}
	if !changed {
		return nil, both
	}
	return &out, both
}

// memory makes a new memory of what a file says.
func (s shown) memory() *memory.Memory {
	m := &memory.Memory{Category: s.Category, Content: s.Content, Title: s.Title, Tags: slices.Clone(s.Tags), Salience: memory.DefaultSalience, Confidence: 1}
	if s.Title == nameOf(s.Content) {
		m.Title = ""
	}
	m.StructuredData = withAbout(m, s.About)
	return m
}

// check says why a file's words cannot be a memory, "" when they can.
func (s shown) check() string {
	var check memory.Check
	check.Text("content", s.Content, memory.MaxContent, true)
	check.Text("title", s.Title, memory.MaxTitle, false)
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

// canon is a text as both sides write it: ends of lines are alike, and no white space stands around it or at the ends of lines.
func canon(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// nameOf is the name of a memory without a title: the beginning of its first line.
func nameOf(content string) string {
	first, _, _ := strings.Cut(canon(content), "\n")
	return clip(oneLine(strings.TrimLeft(first, "#*->• \t")), nameChars)
}

// oneLine puts a text on one line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// clip shortens a text to so many characters, at a space where there is one near.
func clip(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	cut := string([]rune(s)[:limit-1])
	if at := strings.LastIndexByte(cut, ' '); at > len(cut)*3/4 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:，；：、") + "…"
}
