package importers

import (
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/jsonstore/markdownv1"
)

const historyName = "HISTORY.md"

// nanobot reads MEMORY.md, what is true, and HISTORY.md, what has happened.
func (r *reader) nanobot() error {
	for _, f := range r.tree.markdown() {
		isMemory, isHistory := strings.EqualFold(f.base(), indexName), strings.EqualFold(f.base(), historyName)
		if !isMemory && !isHistory {
			if err := r.skip(Place{File: f.name}, "is neither %s nor %s", indexName, historyName); err != nil {
				return err
			}
			continue
		}
		data, ok, err := r.markdown(f)
		if err != nil {
			return err
		}
		switch {
		case !ok:
		case isMemory:
			err = r.memoryList(memoryList{place: Place{File: f.name, Line: 1}, text: data, written: f.mod})
		default:
			err = r.history(f, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// history reads entries that begin with "[2026-02-21 14:30]" and go up to the next one.
func (r *reader) history(f file, data string) error {
	cleaned, _, err := r.clean(Place{File: f.name}, data)
	if err != nil {
		return err
	}
	n := logNote{place: Place{File: f.name, Line: 1}}
	var content strings.Builder
	send := func() error {
		if n.content = content.String(); strings.TrimSpace(n.content) == "" && n.at.IsZero() {
			return nil
		}
		content.Reset()
		_, err := r.logEntry(n)
		return err
	}
	for i, line := range strings.Split(cleaned, "\n") {
		at, rest, ok := r.dated(line)
		if !ok {
			// but for the title of the file
			if content.Len() > 0 || !n.at.IsZero() || strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
				content.WriteString(line + "\n")
			}
			continue
		}
		if err := send(); err != nil {
			return err
		}
		n = logNote{place: Place{File: f.name, Line: i + 1}, at: at}
		content.WriteString(rest + "\n")
	}
	return send()
}

// dated takes a time in brackets off the beginning of a line.
func (r *reader) dated(line string) (at time.Time, rest string, ok bool) {
	line = strings.TrimLeft(strings.TrimSpace(line), "-*# ")
	inside, rest, ok := strings.Cut(strings.TrimPrefix(line, "["), "]")
	if !ok || !strings.HasPrefix(line, "[") {
		return time.Time{}, "", false
	}
	at = timeOf(inside, r.loc)
	return at, strings.TrimSpace(rest), !at.IsZero()
}

// openClaw reads MEMORY.md or memory.md, and the notes below memory: those named by a date are daily logs.
func (r *reader) openClaw() error {
	for _, f := range r.tree.markdown() {
		if !workspaceFile(f) {
			if err := r.skip(Place{File: f.name}, "is neither %s nor below memory", indexName); err != nil {
				return err
			}
			continue
		}
		data, ok, err := r.markdown(f)
		if err != nil {
			return err
		}
		date, dated := markdownv1.DateOf(f.base(), nil)
		switch {
		case !ok:
		case strings.EqualFold(f.base(), indexName):
			err = r.memoryList(memoryList{place: Place{File: f.name, Line: 1}, text: data, written: f.mod})
		case dated:
			err = r.dailyNotes(f, date, data)
		default:
			err = r.memoryList(memoryList{place: Place{File: f.name, Line: 1}, text: data, written: f.mod,
				tags: []string{strings.TrimSuffix(f.base(), f.ext())}})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// workspaceFile reports whether a file of a workspace holds memories. Others instruct the agent.
func workspaceFile(f file) bool {
	_, dated := markdownv1.DateOf(f.base(), nil)
	return strings.EqualFold(f.base(), indexName) || dated || strings.HasPrefix(f.name, "memory/") ||
		strings.Contains(f.name, "/memory/")
}
