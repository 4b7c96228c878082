package markdownv1

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// extraSection is the unknown field of an entry that keeps the heading above it.
const extraSection = "section"

var fileDate = lazyregexp.New(`^(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?:\D.*)?$`)

// DateOf returns the day of a log, from its base name (2026-02-21.md, 20260221.md, 2026_02_21-work.md) or the first
// date among its headings, and false when neither has one.
func DateOf(base string, data []byte) (date string, ok bool) {
	if m := fileDate.FindStringSubmatch(strings.TrimSuffix(base, path.Ext(base))); m != nil {
		date := m[1] + "-" + m[2] + "-" + m[3]
		if _, err := time.Parse(memory.DateLayout, date); err == nil {
			return date, true
		}
	}
	if data == nil {
		return "", false
	}
	s := scan(data)
	if st, _, ok := parseTimestamp(s.front["date"]); ok && st.date != "" {
		return st.date, true
	}
	for _, b := range s.blocks {
		if b.kind != heading {
			continue
		}
		if date, _ := findDate(b.text); date != "" {
			return date, true
		}
	}
	return "", false
}

// ReadLog reads the log of date. Times without a zone are in loc.
//
// A heading or a line that begins with a time begins an entry; so does a list item. What has no time gets that of
// its heading, or of the entry before. Words such as "tool failure" or "反思" in a heading, or after the time, state
// the type; the default is event. A heading that is neither a time, a type, a category nor the name of the day is
// kept with its entries as the unknown field "section".
func ReadLog(data []byte, date string, loc *time.Location) Log {
	s := scan(data)
	r := &logReader{
		date:  date,
		loc:   loc,
		ids:   map[string]bool{},
		same:  map[string]int{},
		notes: s.notes,
		last:  timestamp{clock: "00:00:00"},
	}
	for _, b := range s.blocks {
		if b.kind == heading {
			r.heading(b)
		} else {
			r.block(b)
		}
	}
	r.finish()
	r.close(1)
	slices.SortStableFunc(r.notes, func(a, b Note) int { return cmp.Compare(a.First, b.First) })
	r.out.Notes = r.notes
	return r.out
}

// logSection is an open heading.
type logSection struct {
	level, line int   // of the heading
	label       label // stated by the heading, or by an outer one
	time        timestamp
	text        string // to be kept in the entries, with that of the headings around it
	named       bool   // some of it is its own
	used        bool   // an entry is below it
}

// draft is an entry that may still grow.
type draft struct {
	first, last int      // lines in the file
	lines       []string // text, and properties
	label       label    // stated by the heading, or by an outer one
	time        timestamp
	extra       string // the headings above it
	open        bool   // goes on until the next heading
	dated       bool   // has a date of its own
	sections    []*logSection
}

// logReader makes entries of blocks.
type logReader struct {
	date     string
	loc      *time.Location
	sections []*logSection
	draft    *draft
	last     timestamp       // of the entry before
	ids      map[string]bool // of the entries so far
	same     map[string]int  // how many entries there are of a time and content
	notes    []Note
	out      Log
}

// notef records a place that is not read as it was written.
func (r *logReader) notef(first, last int, detail string) {
	r.notes = append(r.notes, Note{First: first, Last: last, Detail: detail})
}

// close ends the sections of a level and those inside them.
func (r *logReader) close(level int) {
	for len(r.sections) > 0 {
		p := r.sections[len(r.sections)-1]
		if p.level < level {
			return
		}
		if !p.used && p.named {
			r.notef(p.line, p.line, "the heading has nothing below it; it was skipped")
		}
		r.sections = r.sections[:len(r.sections)-1]
	}
}

var weekday = lazyregexp.New(
	`(?i)(?:星期|周|礼拜)[一二三四五六日天]|\b(?:mon|tues?|wed(?:nes)?|thur?s?|fri|satur|sat|sun)(?:day)?\b`,
)

// heading opens a section, and begins an entry when the heading has a time.
func (r *logReader) heading(b *block) {
	r.finish()
	r.close(b.level)
	p := &logSection{level: b.level, line: b.first}
	if n := len(r.sections); n > 0 {
		p.label, p.time, p.text = r.sections[n-1].label, r.sections[n-1].time, r.sections[n-1].text
	}
	text := stripBold(b.text)
	if date, rest := findDate(text); date == r.date {
		if _, _, timed := parseTimestamp(strings.TrimSpace(rest)); !timed {
			text = rest
		}
		rest = weekday.ReplaceAllString(rest, "")
		if m, whole := classify(rest); blank(rest) || m == title && whole {
			r.sections = append(r.sections, p)
			return
		}
	}
	s, rest, timed := leadingTimestamp(text, true)
	if timed = timed && s.clock != ""; timed {
		p.time, text = s, rest
	}
	text = stripLabel(&p.label, text)
	m, whole := classify(text)
	switch {
	case blank(text) || m == title && whole:
	case timed:
		r.draft = &draft{
			first:    b.first,
			last:     b.last,
			lines:    []string{text},
			label:    p.label,
			time:     p.time,
			extra:    p.text,
			open:     true,
			dated:    s.date != "",
			sections: slices.Clone(r.sections),
		}
	case whole && m != summary:
		p.label.category = m
	default:
		p.named = true
		if p.text != "" {
			p.text += " / "
		}
		p.text += strings.TrimSpace(text)
	}
	r.sections = append(r.sections, p)
}

// block makes entries of a list item or a paragraph.
func (r *logReader) block(b *block) {
	if blank(b.content()) {
		if strings.Trim(b.content(), "-*_=—| \n") != "" {
			r.notef(b.first, b.last, "has no words; it was skipped")
		}
		return
	}
	grows := r.draft != nil && r.draft.open
	box := ""
	if b.box != "" {
		box = "[" + b.box + "] "
	}
	switch {
	case r.begin(b.first, b.text, !grows, b.code):
		r.draft.lines[0] = box + r.draft.lines[0]
	case b.kind == item:
		r.grow(b.first, "- "+box+b.text)
	default:
		r.grow(b.first, b.text)
	}
	inItem := b.kind == item && !grows && !b.code
	fence := b.code
	for i, line := range b.rest {
		if fenceForm.MatchString(strings.TrimSpace(line)) {
			fence = !fence
		}
		if fence || b.kind != paragraph || !r.begin(b.lines[i], line, false, false) {
			r.grow(b.lines[i], line)
			if inItem && !blank(line) {
				r.notes = append(r.notes, Note{First: b.lines[i], Last: b.lines[i],
					Detail: "has no time of its own; it was kept with the entry above", Guess: true})
			}
		}
	}
}

// begin begins an entry with text if text begins with a time, or if it must. It reports whether it did; otherwise
// text belongs to the open entry.
func (r *logReader) begin(line int, text string, must, code bool) bool {
	s, rest, timed := leadingTimestamp(text, true)
	timed = timed && s.clock != "" && !code
	if !timed && !must {
		return false
	}
	r.finish()
	d := &draft{first: line, last: line, time: r.last, sections: slices.Clone(r.sections)}
	if n := len(r.sections); n > 0 {
		p := r.sections[n-1]
		d.label, d.extra = p.label, p.text
		if p.time.clock != "" {
			d.time = p.time
		}
	}
	if timed {
		d.time, d.dated, text = s, s.date != "", rest
	} else if d.time == r.last {
		r.notes = append(r.notes,
			Note{First: line, Last: line, Detail: "has no time; it got that of the entry before", Guess: true})
	}
	if !code {
		text = stripLabel(&d.label, text)
	}
	d.lines = []string{stripBold(text)}
	r.draft = d
	return true
}

// grow adds a line to the open entry.
func (r *logReader) grow(line int, text string) {
	d := r.draft
	d.lines, d.last = append(d.lines, text), max(d.last, line)
}

// finish puts the open entry into the result.
func (r *logReader) finish() {
	d := r.draft
	r.draft = nil
	if d == nil {
		return
	}
	e := &memory.Entry{Type: cmp.Or(d.label.kind, memory.EntryEvent), Category: d.label.category}
	lines := d.lines[:1:1]
	fence := false
	for _, line := range d.lines[1:] {
		if fenceForm.MatchString(strings.TrimSpace(line)) {
			fence = !fence
		}
		if fence || !entryField(e, line) {
			lines = append(lines, line)
		}
	}
	content := strings.TrimSpace(strings.Join(lines, "\n"))
	if blank(content) { // properties alone say something too
		e.Tool, e.Error, e.Session = "", "", ""
		content = strings.TrimSpace(strings.Join(d.lines, "\n"))
	}
	if blank(content) {
		r.notef(d.first, d.last, "has no words; it was skipped")
		return
	}
	for _, p := range d.sections {
		p.used = true
	}
	e.At = d.time.at(r.date, r.loc).In(r.loc)
	e.Time = e.At.Format(time.TimeOnly)
	if day := e.At.Format(time.DateOnly); d.dated && day != r.date {
		r.notef(d.first, d.last, "has the date of another day; it was kept in this log")
	}
	if d.extra != "" {
		raw, _ := json.Marshal(d.extra) // a string: cannot fail
		e.Extra = map[string]json.RawMessage{extraSection: raw}
	}
	if d.time.date == "" || d.time.date == r.date {
		r.last = d.time
	}
	parts := memory.SplitContent(content)
	if len(parts) > 1 {
		r.notef(
			d.first,
			d.last,
			fmt.Sprintf("has more than %d characters; it became %d entries", memory.MaxContent, len(parts)),
		)
	}
	for i, part := range parts {
		one := *e
		if i > 0 {
			one.Extra = nil
		}
		one.Content = part
		one.ID = r.id(one.Time, part)
		r.out.Entries = append(r.out.Entries, &one)
	}
}

// id derives an id that no entry of the log has.
func (r *logReader) id(clock, content string) string {
	key := clock + "\x00" + content
	id := deriveID(r.same[key], "entry", r.date, clock, content)
	for r.ids[id] {
		r.same[key]++
		id = deriveID(r.same[key], "entry", r.date, clock, content)
	}
	r.ids[id] = true
	r.same[key]++
	return id
}
