package markdownv1

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Tags that say what a memory was in the file.
const (
	tagDone    = "done"            // a ticked checkbox
	tagSummary = "rolling_summary" // of a summary that could not be the rolling one
)

// ReadMemories reads a MEMORY.md that was last written at written; zero when unknown. Times without a zone are in
// loc.
//
// Headings are categories; an unknown one is a tag, and what is below it is general. A list item with all that is
// indented below it, a paragraph, or a code block is a memory. Its time is the one it names, else that of its section
// or the front matter, else written, which may be zero. A ticked checkbox among the tasks is a finished task: it is
// kept, retired. A text that occurs twice is one memory.
func ReadMemories(data []byte, written time.Time, loc *time.Location) Memories {
	s := scan(data)
	r := &memoryReader{
		loc:       loc,
		written:   written,
		byContent: map[string]*memory.Memory{},
		lines:     map[string]int{},
		ids:       map[string]bool{},
		notes:     s.notes,
		out:       Memories{Headings: map[string]string{}},
	}
	for _, name := range []string{"date", "created", "created_at", "updated", "last_updated", "updated_at"} {
		if st, _, ok := parseTimestamp(s.front[name]); ok && st.date != "" && r.front.IsZero() {
			r.front = r.pastInstant(st)
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

// dropTitle leaves out the title of the whole file: the only heading of the first level, with others below it.
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
	date, rest := findDate(b.text)
	m, whole := classify(rest)
	if date != "" || blank(b.text) || m != "" && (m != title || whole) {
		return blocks
	}
	r.notef(b, "is the title of the file; it was skipped")
	return slices.Delete(blocks, at, at+1)
}

// section is an open heading.
type section struct {
	level    int
	line     int
	category string // "" for none
	tag      string
	word     string // the outermost heading that names no known category, below the first level
	at       time.Time
	named    bool // says something that is kept with its memories only
	unknown  bool // names no category
	used     bool
}

// memoryReader makes memories of blocks.
type memoryReader struct {
	loc            *time.Location
	written, front time.Time                 // of the file, of its front matter
	sections       []*section                // open headings, outermost first
	summaries      []string                  // blocks of the rolling summary
	byContent      map[string]*memory.Memory // by normalised content
	lines          map[string]int            // where that was
	ids            map[string]bool           // of the memories so far
	notes          []Note
	out            Memories
}

// notef records a place that is not read as it was written.
func (r *memoryReader) notef(b *block, detail string) {
	r.notes = append(r.notes, Note{First: b.first, Last: b.last, Detail: detail})
}

// guess records a place that is outside the grammar.
func (r *memoryReader) guess(b *block, detail string) {
	r.notes = append(r.notes, Note{First: b.first, Last: b.last, Detail: detail, Guess: true})
}

// pastInstant returns the instant of a timestamp, unless it is later than the file: then it is not the time of
// writing.
func (r *memoryReader) pastInstant(s timestamp) time.Time {
	at := s.at("", r.loc)
	if !r.written.IsZero() && at.After(r.written.Add(24*time.Hour)) {
		return time.Time{}
	}
	return at
}

// block handles one block.
func (r *memoryReader) block(b *block) {
	if b.kind == heading {
		r.heading(b)
		return
	}
	content := b.content()
	if r.fileDate(b, content) {
		return
	}
	if blank(content) {
		if strings.Trim(content, "-*_=—| \n") != "" {
			r.notef(b, "has no words; it was skipped")
		}
		return
	}
	if n := len(r.sections); n > 0 && r.sections[n-1].category == summary {
		r.summarise(b, content)
	} else if !r.memory(b) {
		r.notef(b, "has no words; it was skipped")
		return
	}
	for _, s := range r.sections {
		s.used = true
	}
}

// fileDate reads a line before all others that says when the file was changed, and reports whether it did.
func (r *memoryReader) fileDate(b *block, content string) bool {
	if b.kind != paragraph || len(b.rest) > 0 || len(r.out.Memories)+len(r.summaries) > 0 {
		return false
	}
	name, value, ok := cutField(content)
	switch name {
	case "last updated", "updated", "last modified", "最后更新", "最后更新时间", "更新时间", "更新于":
		s, rest, isStamp := parseTimestamp(value)
		if at := r.pastInstant(s); ok && isStamp && s.date != "" && strings.Trim(rest, "*_ ") == "" && !at.IsZero() {
			r.front = at
			return true
		}
	}
	return false
}

// summarise adds a block to the rolling summary, below the inner headings that are not yet in it.
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

// close ends the sections of a level and those inside them.
func (r *memoryReader) close(level int) {
	for len(r.sections) > 0 {
		s := r.sections[len(r.sections)-1]
		if s.level < level {
			return
		}
		if !s.used && s.named {
			r.notes = append(
				r.notes,
				Note{First: s.line, Last: s.line, Detail: "the heading has nothing below it; it was skipped"},
			)
		} else if s.unknown {
			detail := "the heading names no category that is known; it was kept as a tag"
			r.notes = append(r.notes, Note{First: s.line, Last: s.line, Detail: detail, Guess: true})
		}
		r.sections = r.sections[:len(r.sections)-1]
	}
}

// heading opens a section: it decides about its category, tag and date.
func (r *memoryReader) heading(b *block) {
	r.close(b.level)
	s := &section{level: b.level, line: b.first}
	if len(r.sections) > 0 {
		outer := r.sections[len(r.sections)-1]
		s.category, s.word, s.at = outer.category, outer.word, outer.at
	}
	r.sections = append(r.sections, s)
	text := stripBold(b.text)
	if blank(text) {
		return
	}
	if date, rest := findDate(text); date != "" {
		if at := r.pastInstant(timestamp{date: date}); !at.IsZero() {
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
	case b.level > 1 && s.word == "":
		s.word = strings.TrimSpace(text)
	}
	s.named = !whole
	if !whole && strings.ToLower(text) != s.category {
		s.tag = strings.TrimSpace(text)
		s.unknown = m == ""
	}
	if utf8.RuneCountInString(s.tag) > memory.MaxTag {
		r.notef(b, fmt.Sprintf("the heading has more than %d characters; the tag made of it was cut", memory.MaxTag))
		s.tag = strings.TrimSpace(string([]rune(s.tag)[:memory.MaxTag]))
	}
}

// memory makes a memory of a block, and reports false when the block has only marks and properties.
func (r *memoryReader) memory(b *block) bool {
	m := &memory.Memory{
		Category:   memory.General,
		Salience:   memory.DefaultSalience,
		Confidence: 1,
		Source:     memory.SourceMigration,
		Status:     memory.Active,
	}
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
	if !own.IsZero() {
		m.ID = r.ownID(b)
	}
	b.rest = slices.DeleteFunc(b.rest, func(line string) bool { return memoryField(m, line, r.pastInstant) })
	content := b.content()
	if blank(content) {
		return false
	}
	switch {
	case b.kind != item && !b.code:
		r.guess(b, "is no list item; it became a memory of the category "+m.Category)
	case len(r.sections) == 0 || r.sections[len(r.sections)-1].category == "":
		r.guess(b, "is below no heading that names a category; it became a memory of the category "+m.Category)
	}
	if own.IsZero() && b.kind == item && noDate.MatchString(b.text) {
		r.guess(b, "has no date of the past in its brackets; they were kept in the text")
	}
	if n := len(b.rest); n > 0 && b.kind == item && !b.code {
		r.notes = append(r.notes, Note{First: b.first + 1, Last: b.last,
			Detail: "is more than a list item of one line; it was kept with it", Guess: true})
	}
	m.CreatedAt = earliest(m.CreatedAt, own, at, r.front, r.written)
	m.UpdatedAt = m.CreatedAt
	r.add(b, m, content)
	return true
}

// task applies a checkbox: a ticked task is finished.
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

// stamp removes the time at the beginning of a block, or finds it in brackets at the end of the first line.
func (r *memoryReader) stamp(b *block) time.Time {
	if s, rest, ok := leadingTimestamp(b.text, false); ok && s.date != "" {
		if at := r.pastInstant(s); !at.IsZero() {
			b.text = stripBold(rest)
			return at
		}
	}
	if s, ok := trailingTimestamp(b.text); ok {
		return r.pastInstant(s)
	}
	return time.Time{}
}

// ownID removes the id in brackets behind the time, as the first program wrote it, and returns it; "" for none.
func (r *memoryReader) ownID(b *block) string {
	m := idInBrackets.FindStringSubmatch(b.text)
	switch {
	case m == nil:
		return ""
	case !hexadecimal.MatchString(m[1]):
		r.notef(b, "has something in brackets where an id is expected; it was kept in the text")
		return ""
	case r.ids[m[1]]:
		r.notef(b, "has the id of a memory above it; it got another one")
		b.text = b.text[len(m[0]):]
		return ""
	}
	b.text = b.text[len(m[0]):]
	return m[1]
}

var (
	noDate       = lazyregexp.New(`^\s*\[[\d./: -]*\d[\d./: -]*\]`)
	idInBrackets = lazyregexp.New(`^\s*\[([A-Za-z0-9_-]{1,64})\]\s*`)
	hexadecimal  = lazyregexp.New(`^[0-9a-f]{4,64}$`)
)

// add puts m into the result, in several memories when its content is too long.
func (r *memoryReader) add(b *block, m *memory.Memory, content string) {
	key := memory.Normalize(content)
	if former := r.byContent[key]; former != nil {
		r.notef(b, fmt.Sprintf("says the same as line %d; they are one memory", r.lines[key]))
		for _, t := range m.Tags {
			if !slices.Contains(former.Tags, t) && len(former.Tags) < memory.MaxTags {
				former.Tags = append(former.Tags, t)
			}
		}
		return
	}
	r.byContent[key], r.lines[key] = m, b.first
	parts := memory.SplitContent(content)
	if len(parts) > 1 {
		r.notef(b, fmt.Sprintf("has more than %d characters; it became %d memories", memory.MaxContent, len(parts)))
	}
	for i, part := range parts {
		one := m
		if len(r.out.Memories) > 0 && r.out.Memories[len(r.out.Memories)-1] == m {
			one = m.Clone()
		}
		one.Content = part
		if given := m.ID; i == 0 && given != "" && !r.ids[given] {
			r.ids[given] = true
		} else {
			one.ID = r.id(part)
		}
		if n := len(r.sections); n > 0 && r.sections[n-1].category == "" && r.sections[n-1].word != "" {
			r.out.Headings[one.ID] = r.sections[n-1].word
		}
		r.out.Memories = append(r.out.Memories, one)
		m = one
	}
	if m.Status == memory.Retired {
		r.out.Done += len(parts)
	}
}

// id derives an id that no memory of the file has.
func (r *memoryReader) id(content string) string {
	for salt := 0; ; salt++ {
		if id := deriveID(salt, "memory", content); !r.ids[id] {
			r.ids[id] = true
			return id
		}
	}
}

// summary makes the rolling summary, or memories when it is too long.
func (r *memoryReader) summary() {
	text := strings.Join(r.summaries, "\n\n")
	if utf8.RuneCountInString(text) <= memory.MaxSummary {
		r.out.Summary = text
		return
	}
	r.notes = append(
		r.notes,
		Note{
			First: 1,
			Last:  1,
			Detail: fmt.Sprintf(
				"the rolling summary has more than %d characters; it became memories",
				memory.MaxSummary,
			),
		},
	)
	at := earliest(r.front, r.written)
	r.out.Memories = append(r.out.Memories, SummaryMemories(text, at)...)
}

// SummaryMemories makes memories of a rolling summary that cannot be one.
func SummaryMemories(text string, at time.Time) []*memory.Memory {
	var list []*memory.Memory
	for i, part := range memory.SplitContent(text) {
		list = append(list, &memory.Memory{
			ID: deriveID(
				i,
				"summary",
				part,
			), Category: memory.General, Content: part, Salience: memory.DefaultSalience, Confidence: 1,
			CreatedAt: at, UpdatedAt: at, Source: memory.SourceMigration, Status: memory.Active, Tags: []string{tagSummary},
		})
	}
	return list
}
