package dailylog

import (
	"fmt"
	"io"

	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Encode writes f as a daily log, one entry at a time: it needs no memory that grows with f.
// Errors: those of w, a time that JSON cannot hold, an extra value that is not JSON.
func Encode(w io.Writer, f *File) error {
	e := strictjson.NewEncoder(w)
	e.Begin('{')
	e.Field("date")
	e.String(f.Day.Date)
	e.Field("entries")
	e.Begin('[')
	for _, n := range f.Entries {
		e.Item()
		codec.EncodeEntry(e, n)
		if err := e.Err(); err != nil {
			return fmt.Errorf("encode log entry %q: %w", n.ID, err)
		}
	}
	e.End(']')
	e.Field("summary")
	if f.Day.Summary == "" {
		e.Null()
	} else {
		e.String(f.Day.Summary)
	}
	e.Field("archived")
	e.Bool(f.Day.Archived)
	if f.Day.Revision != 0 {
		e.Field("revision")
		e.Int(f.Day.Revision)
	}
	e.Extra(f.Day.Extra, isDayField)
	e.End('}')
	if err := e.Close(); err != nil {
		return fmt.Errorf("encode daily log %s: %w", f.Day.Date, err)
	}
	return nil
}

// text writes a string unless it is empty.
func text(e *strictjson.Encoder, name, s string) {
	if s != "" {
		e.Field(name)
		e.String(s)
	}
}

// isDayField reports whether name is a top-level field of a daily log.
func isDayField(name string) bool {
	switch name {
	case "date", "entries", "summary", "archived", "revision":
		return true
	}
	return false
}
