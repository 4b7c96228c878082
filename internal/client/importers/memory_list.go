package importers

import (
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/jsonstore/markdownv1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// memoryList is a text of headings, lists and paragraphs, each of which is a memory.
type memoryList struct {
	place    Place // its line is that of the first line of the text, 0 when lines say nothing
	text     string
	written  time.Time
	fallback string // category for what stands below no heading that names one; "" is memory.Facts
	title    string // of every memory that has none
	key      string
	tags     []string
	origin   map[string]any
}

// memoryList sends the memories of a text. Passages that span several of its lines are cleaned before it is cut up.
func (r *reader) memoryList(s memoryList) error {
	cleaned, _, err := r.clean(Place{File: s.place.File, Item: s.place.Item}, s.text)
	if err != nil {
		return err
	}
	lined := s.place.Line > 0 && strings.Count(cleaned, "\n") == strings.Count(s.text, "\n")
	at := func(line int) Place {
		p := s.place
		p.Line = 0
		if lined && line > 0 {
			p.Line = s.place.Line + line - 1
		}
		return p
	}
	found := markdownv1.ReadMemories([]byte(cleaned), s.written, r.loc)
	for _, n := range found.Notes {
		if n.Guess {
			continue // files of other programs have a grammar of their own
		}
		if err := r.warn(at(n.First), "%s", n.Detail); err != nil {
			return err
		}
	}
	list := found.Memories
	if found.Summary != "" {
		list = append(list, markdownv1.SummaryMemories(found.Summary, s.written)...)
	}
	lines := lineFinder{text: cleaned}
	for _, m := range list {
		found.UseHeading(m)
		kind := m.Category
		if kind == memory.General && s.fallback != "" {
			kind = s.fallback
		}
		d := draft{
			place: at(lines.line(m.Content)), key: s.key, kind: kind, title: m.Title, content: m.Content,
			tags:    append(m.Tags, s.tags...),
			created: m.CreatedAt, updated: m.UpdatedAt, salience: m.Salience, status: m.Status, origin: s.origin,
		}
		if d.title == "" {
			d.title = s.title
		}
		if err := r.memory(d); err != nil {
			return err
		}
	}
	return nil
}

// lineFinder finds the lines of contents that follow each other in a text.
type lineFinder struct {
	text   string
	offset int
	lines  int // before offset
}

// maxLineSearch is how far behind the content before a finder looks, in bytes.
const maxLineSearch = 64 << 10

// line is the line on which a content begins, 0 when it does not stand there as it is.
func (f *lineFinder) line(content string) int {
	first, _, _ := strings.Cut(content, "\n")
	ahead := f.text[f.offset:]
	ahead = ahead[:min(len(ahead), maxLineSearch+len(first))]
	i := strings.Index(ahead, first)
	if i < 0 || first == "" {
		return 0
	}
	f.lines += strings.Count(ahead[:i], "\n")
	f.offset += i
	return f.lines + 1
}

// dailyNotes sends the entries of a Markdown log of one day.
func (r *reader) dailyNotes(f file, date, data string) error {
	cleaned, _, err := r.clean(Place{File: f.name}, data)
	if err != nil {
		return err
	}
	found := markdownv1.ReadLog([]byte(cleaned), date, r.loc)
	for _, n := range found.Notes {
		if n.Guess {
			continue // files of other programs have a grammar of their own
		}
		if err := r.warn(Place{File: f.name, Line: n.First}, "%s", n.Detail); err != nil {
			return err
		}
	}
	lines := lineFinder{text: cleaned}
	for _, e := range found.Entries {
		n := logNote{place: Place{File: f.name, Line: lines.line(e.Content)}, at: e.At, kind: e.Type, content: e.Content,
			session: e.Session, tool: e.Tool, category: e.Category}
		if section := sectionOf(e); section != "" {
			n.content = section + ": " + n.content
		}
		if _, err := r.logEntry(n); err != nil {
			return err
		}
	}
	return nil
}

// sectionOf is the heading that an entry stood below, which says what it is about.
func sectionOf(e *memory.Entry) string {
	var s flexibleString
	if raw := e.Extra["section"]; len(raw) > 0 {
		_ = s.UnmarshalJSON(raw) // never fails
	}
	return string(s)
}
