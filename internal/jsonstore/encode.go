package jsonstore

import (
	"fmt"
	"io"

	"github.com/memsidecar/memsidecar/internal/memory/codec"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// In a file of so many memories the revision has this width: one digit more would move everything behind it, and the
// whole file would be written.
const (
	paddedFrom    = 64
	revisionWidth = 10
)

// Encode writes f as memory.json, one memory at a time: its own memory does not grow with f. It always writes
// Version, whatever f says. Errors: those of w, a number or time that JSON cannot hold, an extra value that is not
// JSON.
func Encode(w io.Writer, f *File) error {
	e := strictjson.NewEncoder(w)
	e.Begin('{')
	e.Field("version")
	e.Int(Version)
	e.Field("last_updated")
	e.Time(f.LastUpdated.UTC())
	if f.Revision != 0 {
		e.Field("revision")
		if len(f.Memories) < paddedFrom {
			e.Int(f.Revision)
		} else {
			e.PaddedInt(f.Revision, revisionWidth)
		}
	}
	e.Field("rolling_summary")
	e.String(f.RollingSummary)
	e.Field("memories")
	e.Begin('[')
	for _, m := range f.Memories {
		e.Item()
		codec.EncodeMemory(e, m)
		if err := e.Err(); err != nil {
			return fmt.Errorf("encode memory %q: %w", m.ID, err)
		}
	}
	e.End(']')
	if len(f.Forgotten) > 0 {
		e.Field("forgotten")
		e.Begin('[')
		for _, g := range f.Forgotten {
			e.Item()
			e.BeginInline('{')
			e.Field("hash")
			e.String(g.Hash)
			e.Field("at")
			e.Time(g.At.UTC())
			e.End('}')
		}
		e.End(']')
	}
	e.Extra(f.Extra, isFileField)
	e.End('}')
	if err := e.Close(); err != nil {
		return fmt.Errorf("encode %s: %w", FileName, err)
	}
	return nil
}

// isFileField reports whether name is a top-level field of this version.
func isFileField(name string) bool {
	switch name {
	case "version", "last_updated", "revision", "rolling_summary", "memories", "forgotten":
		return true
	}
	return false
}
