package jsonstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// SanitizeLog does for a daily log what File.Sanitize does for memories. Complete, which comes after it, makes the ids.
func SanitizeLog(f *dailylog.File) (notes []string) {
	t := &sanitizer{}
	var out []*memory.Entry
	for i, e := range f.Entries {
		t.where = fmt.Sprintf("entries[%d]", i)
		if strings.TrimSpace(e.Content) == "" {
			t.notef("content", "is empty; the entry was left out")
			continue
		}
		var check memory.Check
		if check.ID("id", e.ID); e.ID != "" && check.Err() != nil {
			t.notef("id", "is too long or has spaces; gave another one")
			keepOriginal(&e.Extra, "id", e.ID)
			e.ID = ""
		}
		if !e.At.IsZero() && !memory.IsTime(e.At) {
			t.notef("at", "is not in the years 1970 to 9999; took the day of the log")
			keepOriginal(&e.Extra, "at", e.At.Format(time.RFC3339Nano))
			e.At = time.Time{}
		}
		t.slug(&e.Type, "type", memory.EntryEvent, &e.Extra)
		if e.Category != "" {
			t.slug(&e.Category, "category", memory.General, &e.Extra)
		}
		t.text(&e.Tool, "tool", memory.MaxTitle, &e.Extra)
		t.text(&e.Error, "error", memory.MaxContent, &e.Extra)
		parts := memory.SplitContent(e.Content)
		if len(parts) > 1 {
			t.notef("content", "has more than %d characters; split into %d entries", memory.MaxContent, len(parts))
		}
		for n, part := range parts {
			one := e
			if n > 0 {
				rest := *e
				rest.ID, rest.Extra = "", nil
				one = &rest
			}
			one.Content = part
			out = append(out, one)
		}
	}
	f.Entries = out
	f.Day.Entries = len(out)
	return t.notes
}
