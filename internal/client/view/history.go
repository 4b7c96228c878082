package view

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// The files of logs are append-only: their content is never changed. What somebody writes at their end becomes
// an entry of a log; what is missing is written again at the end.

// stampForm begins an entry in a file of all days.
var stampForm = lazyregexp.New(`^\[(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2})(?::\d{2})?\]\s*`)

// timeForm begins an entry in a file of one day.
var timeForm = lazyregexp.New(`^(\d{1,2}:\d{2})(?::\d{2})?\s+`)

// dailyForm is the name of a file of one day.
var dailyForm = lazyregexp.New(`^\d{4}-\d{2}-\d{2}\.md$`)

// logLine is a log entry on a line.
func logLine(l *layout, date string, e *memory.Entry) string {
	clock := e.Time
	if len(clock) > 5 {
		clock = clock[:5]
	}
	text := oneLine(e.Content)
	if e.Tool != "" && e.Error != "" {
		text += " (" + oneLine(e.Tool) + ": " + oneLine(e.Error) + ")"
	}
	if l.daily != "" {
		return "- " + clock + " " + text
	}
	if stampForm.MatchString(text) {
		return text // its writer has said when it happened
	}
	return "[" + date + " " + clock + "] " + text
}

// logBlock is what stands for one entry in a file: a line with those that belong to it.
type logBlock struct {
	text string
	key  string // of the text, and how often it stood there before
	line int
}

// parseLogBlocks parts a file of logs. Headings and comments are no blocks.
func parseLogBlocks(text string) (out []logBlock) {
	count := map[string]int{}
	gap := true
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "":
			gap = true
			continue
		case headingForm.MatchString(trimmed) || strings.HasPrefix(trimmed, "<!--"):
			gap = true
			continue
		}
		begins := gap || stampForm.MatchString(trimmed) || itemForm.MatchString(line)
		indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
		if len(out) == 0 || begins && !indented {
			out = append(out, logBlock{text: trimmed, line: i + 1})
		} else {
			out[len(out)-1].text += "\n" + trimmed
		}
		gap = false
	}
	// Equal lines of a log are told apart by their count, since a log has no ids.
	for i, p := range out {
		h := shortHash(oneLine(p.text))
		out[i].key = lineKey(h, count[h])
		count[h]++
	}
	return out
}

// lineKey distinguishes the n-th line with the same hash.
func lineKey(hash string, n int) string {
	if n == 0 {
		return hash
	}
	return hash + "." + strconv.Itoa(n)
}

// parseLog reads a block that somebody wrote. The day is that of the file, or named at the beginning.
func parseLog(text, date string, loc *time.Location) memory.Entry {
	e := memory.Entry{Type: memory.EntryEvent}
	clock := ""
	if m := stampForm.FindStringSubmatch(text); m != nil {
		date, clock, text = m[1], m[2], text[len(m[0]):]
	} else {
		text = text[len(itemForm.FindString(text)):]
		if m := timeForm.FindStringSubmatch(text); m != nil && date != "" {
			clock, text = m[1], text[len(m[0]):]
		}
	}
	if clock == "" && date != "" {
		clock = "23:59" // it stands at the end
	}
	if at, err := time.ParseInLocation("2006-01-02 15:04", date+" "+clock, loc); err == nil {
		e.At = at
	}
	e.Content = canonical(text)
	return e
}

// logFiles lists the files of logs that there should be or are, with the days of each.
func (r *pass) logFiles() map[string][]Day {
	files := map[string][]Day{}
	if r.layout.history != "" {
		files[r.layout.history] = r.snapshot.Days
	}
	if r.layout.daily != "" {
		for name := range r.files {
			if path.Dir(name) == r.layout.daily && dailyForm.MatchString(path.Base(name)) {
				files[name] = nil
			}
		}
		for _, d := range r.snapshot.Days {
			files[path.Join(r.layout.daily, d.Date+".md")] = []Day{d}
		}
	}
	return files
}

// dateOf returns the date in the name of a daily file, or "".
func dateOf(name string) string {
	if base := path.Base(name); dailyForm.MatchString(base) {
		return strings.TrimSuffix(base, ".md")
	}
	return ""
}

// appendLogs makes log entries of what somebody wrote at the end of a file of logs.
func (r *pass) appendLogs(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(r.logFiles())) {
		for _, p := range r.newLines(name) {
			e := parseLog(p.text, dateOf(name), r.cfg.Now().Location())
			if e.At.After(r.cfg.Now()) {
				// now, as when no time is named: the store decides, so that a repeated request is the same
				e.At = time.Time{}
			}
			op, id, err := r.cfg.Store.Append(ctx, "view-"+shortHash(r.newState.Store+r.newState.Space+name)+"-"+p.key, e)
			t := Adopted{File: name, Kind: Add, ID: id, Text: truncate(oneLine(e.Content), maxNameChars), Log: true}
			if err != nil {
				t.Reason = err.Error()
				r.holdBack(name, fmt.Sprintf("line %d was not taken over: %v", p.line, err))
				continue
			}
			if op != "" {
				r.report.Operations = append(r.report.Operations, op)
			}
			r.report.Adopted = append(r.report.Adopted, t)
			r.recordLine(name, p.key, id)
		}
	}
}

// recordLine records which log entry a line of a file stands for; "" for none.
func (r *pass) recordLine(name, key, id string) {
	if r.newState.Lines[name] == nil {
		r.newState.Lines[name] = map[string]string{}
	}
	r.newState.Lines[name][key] = id
}

// newLines lists what stands behind the last block that is known, and remembers what is new elsewhere as no entries.
func (r *pass) newLines(name string) (fresh []logBlock) {
	f := r.files[name]
	if !f.exists() || r.newState.Files[name].matches(f.hash) || r.skipped[name] != "" {
		return nil
	}
	if !utf8.Valid(f.data) {
		r.holdBack(name, "is not text in UTF-8")
		return nil
	}
	// A last line without an end may still be growing.
	if len(f.data) > 0 && f.data[len(f.data)-1] != '\n' && r.waitForWriter(name, f) {
		return nil
	}
	pieces := parseLogBlocks(string(f.data))
	have := r.newState.Lines[name]
	shows := r.knownLines(name)
	last := -1
	for i, p := range pieces {
		_, was := have[p.key]
		if _, is := shows[p.key]; was || is {
			last = i
		}
	}
	for i, p := range pieces {
		_, was := have[p.key]
		_, is := shows[p.key]
		switch {
		case was:
		case is:
			r.recordLine(name, p.key, shows[p.key])
		case i > last:
			fresh = append(fresh, p)
		default:
			r.addNote(name, fmt.Sprintf("line %d was written or changed in the middle of a log, which only grows: it is "+
				"left as it is and not taken over", p.line))
			r.recordLine(name, p.key, "")
		}
	}
	k := r.newState.Files[name]
	k.Hash, k.Next = f.hash, ""
	r.newState.Files[name] = k
	return fresh
}

// knownLines is how the entries stand in a file, by the key of their line.
func (r *pass) knownLines(name string) map[string]string {
	out, count := map[string]string{}, map[string]int{}
	for _, d := range r.logFiles()[name] {
		for _, e := range d.Entries {
			h := shortHash(oneLine(logLine(&r.layout, d.Date, e)))
			out[lineKey(h, count[h])] = e.ID
			count[h]++
		}
	}
	return out
}

// logPages makes the files of logs with what is missing at their ends.
func (r *pass) logPages() (pages []page) {
	for name, days := range r.logFiles() {
		f := r.files[name]
		if r.skipped[name] != "" || f.exists() && !r.newState.Files[name].matches(f.hash) && !r.opts.DryRun {
			continue
		}
		have := map[string]bool{} // entries that stand there
		for _, p := range parseLogBlocks(string(f.data)) {
			if id := r.newState.Lines[name][p.key]; id != "" {
				have[id] = true
			}
		}
		shows := r.knownLines(name)
		keys := map[string]string{}
		for key, id := range shows {
			keys[id] = key
		}
		text := string(f.data)
		if !f.exists() {
			text = "# History\n"
			if date := dateOf(name); date != "" {
				text = "# " + date + "\n"
			}
		}
		before := len(text)
		for _, d := range days {
			for _, e := range d.Entries {
				if have[e.ID] {
					continue
				}
				if !strings.HasSuffix(text, "\n") {
					text += "\n"
				}
				if r.layout.history != "" || len(text) == before && before < 20 {
					text += "\n"
				}
				text += logLine(&r.layout, d.Date, e) + "\n"
				r.recordLine(name, keys[e.ID], e.ID)
			}
		}
		if len(text) > before {
			pages = append(pages, page{name, []byte(text)})
		}
	}
	slices.SortFunc(pages, func(a, b page) int { return strings.Compare(a.name, b.name) })
	return pages
}
