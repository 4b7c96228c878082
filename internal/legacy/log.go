package legacy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/pattern"
)

// extraSection is the unknown field of an entry that holds the heading it stood below.
const extraSection = "section"

var fileDate = pattern.New(`^(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?:\D.*)?$`)

// DateOf returns the day that a log is of, from its base name (2026-02-21.md, 20260221.md, 2026_02_21-work.md) or the first
// date among its headings, and false when neither says.
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
	if st, _, ok := takeStamp(s.front["date"]); ok && st.date != "" {
		return st.date, true
	}
	for _, b := range s.blocks {
		if b.kind != heading {
			continue
		}
		if date, _ := dateIn(b.text); date != "" {
			return date, true
		}
	}
	return "", false
}

// ReadLog reads the log of date. Times without a zone are times in loc.
//
// A heading or a line that begins with a time begins an entry; so does an item of a list. What has no time of its own takes the one
// of its heading, or of the entry before. Words such as "tool failure" or "反思" in a heading, or behind the time, say the type;
// anything else is an event. A heading that is neither a time, a type, a category nor the name of the day is kept with its entries as
// the unknown field "section".
func ReadLog(data []byte, date string, loc *time.Location) Log {
	s := scan(data)
	r := &logReader{date: date, loc: loc, ids: map[string]bool{}, same: map[string]int{}, notes: s.notes, last: stamp{clock: "00:00:00"}}
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

// part is a heading that is in force.
type part struct {
	level, line int
	label       label
	time        stamp
	text        string // to be kept in the entries, with that of the headings around it
	named       bool   // some of it is its own
	used        bool
}

// draft is an entry that may still grow.
type draft struct {
	first, last int
	lines       []string
	label       label
	time        stamp
	extra       string
	open        bool // goes on until the next heading
	dated       bool // has a date of its own
	parts       []*part
}

type logReader struct {
	date  string
	loc   *time.Location
	parts []*part
	cur   *draft
	last  stamp // of the entry before
	ids   map[string]bool
	same  map[string]int // how many entries there are of a time and content
	notes []Note
	out   Log
}

func (r *logReader) note(first, last int, detail string) {
	r.notes = append(r.notes, Note{First: first, Last: last, Detail: detail})
}

func (r *logReader) close(level int) {
	for len(r.parts) > 0 {
		p := r.parts[len(r.parts)-1]
		if p.level < level {
			return
		}
		if !p.used && p.named {
			r.note(p.line, p.line, "nothing stands below this heading; it was not taken over")
		}
		r.parts = r.parts[:len(r.parts)-1]
	}
}

var weekday = pattern.New(`(?i)(?:星期|周|礼拜)[一二三四五六日天]|\b(?:mon|tues?|wed(?:nes)?|thur?s?|fri|satur|sat|sun)(?:day)?\b`)

func (r *logReader) heading(b *block) {
	r.finish()
	r.close(b.level)
	p := &part{level: b.level, line: b.first}
	if n := len(r.parts); n > 0 {
		p.label, p.time, p.text = r.parts[n-1].label, r.parts[n-1].time, r.parts[n-1].text
	}
	text := unbold(b.text)
	if date, rest := dateIn(text); date == r.date {
		if _, _, timed := takeStamp(strings.TrimSpace(rest)); !timed {
			text = rest
		}
		rest = weekday.ReplaceAllString(rest, "")
		if m, whole := classify(rest); blank(rest) || m == title && whole {
			r.parts = append(r.parts, p)
			return
		}
	}
	s, rest, timed := leadingStamp(text, true)
	if timed = timed && s.clock != ""; timed {
		p.time, text = s, rest
	}
	text = takeLabel(&p.label, text)
	m, whole := classify(text)
	switch {
	case blank(text) || m == title && whole:
	case timed:
		r.cur = &draft{first: b.first, last: b.last, lines: []string{text}, label: p.label, time: p.time, extra: p.text, open: true, dated: s.date != "", parts: slices.Clone(r.parts)}
	case whole && m != summary:
		p.label.category = m
	default:
		p.named = true
		if p.text != "" {
			p.text += " / "
		}
		p.text += strings.TrimSpace(text)
	}
	r.parts = append(r.parts, p)
}

// block makes entries of an item or a paragraph.
func (r *logReader) block(b *block) {
	if blank(b.content()) {
		if strings.Trim(b.content(), "-*_=—| \n") != "" {
			r.note(b.first, b.last, "has no words; it was not taken over")
		}
		return
	}
	grows := r.cur != nil && r.cur.open
	box := ""
	if b.box != "" {
		box = "[" + b.box + "] "
	}
	switch {
	case r.begin(b.first, b.text, !grows, b.code):
		r.cur.lines[0] = box + r.cur.lines[0]
	case b.kind == item:
		r.grow(b.first, "- "+box+b.text)
	default:
		r.grow(b.first, b.text)
	}
	fence := b.code
	for i, line := range b.rest {
		if fenceForm.MatchString(strings.TrimSpace(line)) {
			fence = !fence
		}
		if fence || b.kind != paragraph || !r.begin(b.lines[i], line, false, false) {
			r.grow(b.lines[i], line)
		}
	}
}

// begin begins an entry with text if that begins with a time, or if it must. Otherwise, text goes on with the entry that is open.
func (r *logReader) begin(line int, text string, must, code bool) bool {
	s, rest, timed := leadingStamp(text, true)
	timed = timed && s.clock != "" && !code
	if !timed && !must {
		return false
	}
	r.finish()
	d := &draft{first: line, last: line, time: r.last, parts: slices.Clone(r.parts)}
	if n := len(r.parts); n > 0 {
		p := r.parts[n-1]
		d.label, d.extra = p.label, p.text
		if p.time.clock != "" {
			d.time = p.time
		}
	}
	if timed {
		d.time, d.dated, text = s, s.date != "", rest
	}
	if !code {
		text = takeLabel(&d.label, text)
	}
	d.lines = []string{unbold(text)}
	r.cur = d
	return true
}

// grow adds a line to the present entry. One that names a property of it sets that.
func (r *logReader) grow(line int, text string) {
	d := r.cur
	d.lines, d.last = append(d.lines, text), max(d.last, line)
}

// finish puts the present entry into the result.
func (r *logReader) finish() {
	d := r.cur
	r.cur = nil
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
		r.note(d.first, d.last, "has no words; it was not taken over")
		return
	}
	for _, p := range d.parts {
		p.used = true
	}
	e.At = d.time.at(r.date, r.loc).In(r.loc)
	e.Time = e.At.Format(time.TimeOnly)
	if day := e.At.Format(time.DateOnly); d.dated && day != r.date {
		r.note(d.first, d.last, "has the date of another day; it was kept in this log")
	}
	if d.extra != "" {
		raw, _ := json.Marshal(d.extra) // a string: cannot fail
		e.Extra = map[string]json.RawMessage{extraSection: raw}
	}
	if d.time.date == "" || d.time.date == r.date {
		r.last = d.time
	}
	parts := memory.Split(content)
	if len(parts) > 1 {
		r.note(d.first, d.last, fmt.Sprintf("has more than %d characters; it became %d entries", memory.MaxContent, len(parts)))
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

func (r *logReader) id(clock, content string) string {
	key := clock + "\x00" + content
	id := derive(r.same[key], "entry", r.date, clock, content)
	for r.ids[id] {
		r.same[key]++
		id = derive(r.same[key], "entry", r.date, clock, content)
	}
	r.ids[id] = true
	r.same[key]++
	return id
}
