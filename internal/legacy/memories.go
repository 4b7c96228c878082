package legacy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Tags that say what a memory was in the file.
const (
	tagDone    = "done"            // a ticked checkbox
	tagSummary = "rolling_summary" // of a summary that could not be the rolling one
)

// ReadMemories reads a MEMORY.md that was last written at written; zero when that is not known. Times without a zone are times in loc.
//
// Headings are categories; one that is not known becomes a category of its own when it is a single word below the first level, and a
// tag. An item of a list with all that is indented below it, a paragraph, or a code block is a memory. Its time is the one it names,
// else that of its section or the front matter, else written, which may be zero. A ticked checkbox among the tasks is a finished task: it is kept,
// retired. What is said twice is one memory.
func ReadMemories(data []byte, written time.Time, loc *time.Location) Memories {
	s := scan(data)
	r := &memoryReader{loc: loc, written: written, seen: map[string]*memory.Memory{}, lines: map[string]int{}, ids: map[string]bool{}, notes: s.notes}
	for _, name := range []string{"date", "created", "created_at", "updated", "last_updated", "updated_at"} {
		if st, _, ok := takeStamp(s.front[name]); ok && st.date != "" && r.front.IsZero() {
			r.front = r.past(st)
		}
	}
	for _, b := range dropTitle(s.blocks, r) {
		r.block(b)
	}
	r.close(1)
	r.summary()
	slices.SortStableFunc(r.notes, func(a, b Note) int { return cmp.Compare(a.First, b.First) })
	r.out.Notes = r.notes
	return r.out
}

// dropTitle leaves out the heading that is the title of the whole file: the only one of the first level, with others below it.
func dropTitle(blocks []*block, r *memoryReader) []*block {
	at, first, deeper := -1, 0, false
	for i, b := range blocks {
		switch {
		case b.kind != heading:
		case b.level == 1:
			at = i
			first++
		case first > 0:
			deeper = true
		}
	}
	if first != 1 || !deeper {
		return blocks
	}
	b := blocks[at]
	date, rest := dateIn(b.text)
	m, whole := classify(rest)
	if date != "" || blank(b.text) || m != "" && (m != title || whole) {
		return blocks
	}
	r.note(b, "is the title of the file; it was not taken over")
	return slices.Delete(blocks, at, at+1)
}

// section is a heading that is in force.
type section struct {
	level    int
	line     int
	category string // "" for none
	tag      string
	at       time.Time
	named    bool // says something that is kept with its memories only
	used     bool
}

type memoryReader struct {
	loc            *time.Location
	written, front time.Time
	sections       []*section
	summaries      []string
	seen           map[string]*memory.Memory // by normalised content
	lines          map[string]int            // where that was
	ids            map[string]bool
	notes          []Note
	out            Memories
}

func (r *memoryReader) note(b *block, detail string) {
	r.notes = append(r.notes, Note{First: b.first, Last: b.last, Detail: detail})
}

// past returns the instant of a stamp, unless it lies in the future of the file: then it is not when something was written.
func (r *memoryReader) past(s stamp) time.Time {
	at := s.at("", r.loc)
	if !r.written.IsZero() && at.After(r.written.Add(24*time.Hour)) {
		return time.Time{}
	}
	return at
}

func (r *memoryReader) block(b *block) {
	if b.kind == heading {
		r.heading(b)
		return
	}
	content := b.content()
	if r.updated(b, content) {
		return
	}
	if blank(content) {
		if strings.Trim(content, "-*_=—| \n") != "" {
			r.note(b, "has no words; it was not taken over")
		}
		return
	}
	if n := len(r.sections); n > 0 && r.sections[n-1].category == summary {
		r.summarise(b, content)
	} else if !r.memory(b) {
		r.note(b, "has no words; it was not taken over")
		return
	}
	for _, s := range r.sections {
		s.used = true
	}
}

// updated takes in a line before all others that says when the file was changed. It reports whether it did.
func (r *memoryReader) updated(b *block, content string) bool {
	if b.kind != paragraph || len(b.rest) > 0 || len(r.out.Memories)+len(r.summaries) > 0 {
		return false
	}
	name, value, ok := cutField(content)
	switch name {
	case "last updated", "updated", "last modified", "最后更新", "最后更新时间", "更新时间", "更新于":
		s, rest, isStamp := takeStamp(value)
		if at := r.past(s); ok && isStamp && s.date != "" && strings.Trim(rest, "*_ ") == "" && !at.IsZero() {
			r.front = at
			return true
		}
	}
	return false
}

// summarise adds a block to the rolling summary, below the headings within it that say something of their own.
func (r *memoryReader) summarise(b *block, content string) {
	for _, s := range r.sections {
		if !s.used && s.tag != "" {
			r.summaries = append(r.summaries, s.tag)
		}
	}
	if b.kind == item {
		content = "- " + content
	}
	r.summaries = append(r.summaries, content)
}

// close ends the sections of a level and those within.
func (r *memoryReader) close(level int) {
	for len(r.sections) > 0 {
		s := r.sections[len(r.sections)-1]
		if s.level < level {
			return
		}
		if !s.used && s.named {
			r.notes = append(r.notes, Note{First: s.line, Last: s.line, Detail: "nothing stands below this heading; it was not taken over"})
		}
		r.sections = r.sections[:len(r.sections)-1]
	}
}

func (r *memoryReader) heading(b *block) {
	r.close(b.level)
	s := &section{level: b.level, line: b.first}
	if len(r.sections) > 0 {
		outer := r.sections[len(r.sections)-1]
		s.category, s.at = outer.category, outer.at
	}
	r.sections = append(r.sections, s)
	text := unbold(b.text)
	if blank(text) {
		return
	}
	if date, rest := dateIn(text); date != "" {
		if at := r.past(stamp{date: date}); !at.IsZero() {
			s.at, text = at, rest
		}
		if blank(text) {
			return
		}
	}
	m, whole := classify(text)
	switch {
	case m == title:
	case m != "":
		s.category = m
	case b.level > 1 && s.category == "":
		if slug := plain(text); memory.IsSlug(slug) && len(slug) <= memory.MaxSlug {
			s.category = slug
		}
	}
	s.named = !whole
	if !whole && strings.ToLower(text) != s.category {
		s.tag = strings.TrimSpace(text)
	}
	if utf8.RuneCountInString(s.tag) > memory.MaxTag {
		r.note(b, fmt.Sprintf("the heading has more than %d characters; the tag made of it was cut", memory.MaxTag))
		s.tag = strings.TrimSpace(string([]rune(s.tag)[:memory.MaxTag]))
	}
}

// memory makes a memory of a block, and reports false when only marks and properties stand there.
func (r *memoryReader) memory(b *block) bool {
	m := &memory.Memory{Category: memory.General, Salience: memory.DefaultSalience, Confidence: 1, Source: memory.SourceImport, Status: memory.Active}
	var at time.Time
	for _, s := range r.sections {
		if s.category != "" {
			m.Category = s.category
		}
		if s.tag != "" && !slices.Contains(m.Tags, s.tag) && len(m.Tags) < memory.MaxTags-1 {
			m.Tags = append(m.Tags, s.tag)
		}
		at = earliest(s.at, at)
	}
	r.task(b, m)
	own := r.stamp(b)
	b.rest = slices.DeleteFunc(b.rest, func(line string) bool { return memoryField(m, line, r.past) })
	content := b.content()
	if blank(content) {
		return false
	}
	m.CreatedAt = earliest(m.CreatedAt, own, at, r.front, r.written)
	m.UpdatedAt = m.CreatedAt
	r.add(b, m, content)
	return true
}

// task decides what a checkbox means.
func (r *memoryReader) task(b *block, m *memory.Memory) {
	if b.box == "" {
		return
	}
	if m.Category == memory.General {
		m.Category = memory.Tasks
	}
	if b.box == "x" {
		m.Tags = append(m.Tags, tagDone)
		if m.Category == memory.Tasks {
			m.Status = memory.Retired
		}
	}
}

// stamp takes the time off the beginning of a block, or finds it in brackets at the end of its first line.
func (r *memoryReader) stamp(b *block) time.Time {
	if s, rest, ok := leadingStamp(b.text, false); ok && s.date != "" {
		if at := r.past(s); !at.IsZero() {
			b.text = unbold(rest)
			return at
		}
	}
	if s, ok := trailingStamp(b.text); ok {
		return r.past(s)
	}
	return time.Time{}
}

// add puts m into the result, in parts when its content is too long.
func (r *memoryReader) add(b *block, m *memory.Memory, content string) {
	key := memory.Normalize(content)
	if former := r.seen[key]; former != nil {
		r.note(b, fmt.Sprintf("says the same as line %d; they are one memory", r.lines[key]))
		for _, t := range m.Tags {
			if !slices.Contains(former.Tags, t) && len(former.Tags) < memory.MaxTags {
				former.Tags = append(former.Tags, t)
			}
		}
		return
	}
	r.seen[key], r.lines[key] = m, b.first
	parts := memory.Split(content)
	if len(parts) > 1 {
		r.note(b, fmt.Sprintf("has more than %d characters; it became %d memories", memory.MaxContent, len(parts)))
	}
	for _, part := range parts {
		one := m
		if len(r.out.Memories) > 0 && r.out.Memories[len(r.out.Memories)-1] == m {
			one = m.Clone()
		}
		one.Content = part
		one.ID = r.id(part)
		r.out.Memories = append(r.out.Memories, one)
		m = one
	}
	if m.Status == memory.Retired {
		r.out.Done += len(parts)
	}
}

func (r *memoryReader) id(content string) string {
	for salt := 0; ; salt++ {
		if id := derive(salt, "memory", content); !r.ids[id] {
			r.ids[id] = true
			return id
		}
	}
}

// summary makes the rolling summary of what stands in such sections, or memories when that is too long.
func (r *memoryReader) summary() {
	text := strings.Join(r.summaries, "\n\n")
	if utf8.RuneCountInString(text) <= memory.MaxSummary {
		r.out.Summary = text
		return
	}
	r.notes = append(r.notes, Note{First: 1, Last: 1, Detail: fmt.Sprintf("the rolling summary has more than %d characters; it became memories", memory.MaxSummary)})
	at := earliest(r.front, r.written)
	r.out.Memories = append(r.out.Memories, SummaryMemories(text, at)...)
}

// SummaryMemories makes memories of a rolling summary that cannot be one.
func SummaryMemories(text string, at time.Time) []*memory.Memory {
	var list []*memory.Memory
	for i, part := range memory.Split(text) {
		list = append(list, &memory.Memory{
			ID: derive(i, "summary", part), Category: memory.General, Content: part, Salience: memory.DefaultSalience, Confidence: 1,
			CreatedAt: at, UpdatedAt: at, Source: memory.SourceImport, Status: memory.Active, Tags: []string{tagSummary},
		})
	}
	return list
}
