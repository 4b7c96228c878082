package jsonstore

import (
	"fmt"
	"io"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/strictjson"
)

// Encode writes f as memory.json, one memory at a time: it needs no memory that grows with f. The version written is
// Version, whatever f says. Errors: those of w, a number or time that JSON cannot hold, an extra value that is not JSON.
func Encode(w io.Writer, f *File) error {
	e := strictjson.NewEncoder(w)
	e.Begin('{')
	e.Field("version")
	e.Int(Version)
	e.Field("last_updated")
	e.Time(f.LastUpdated.UTC())
	if f.Revision != 0 {
		e.Field("revision")
		e.Int(f.Revision)
	}
	e.Field("rolling_summary")
	e.String(f.RollingSummary)
	e.Field("memories")
	e.Begin('[')
	for _, m := range f.Memories {
		e.Item()
		encodeMemory(e, m)
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

func encodeMemory(e *strictjson.Encoder, m *memory.Memory) {
	e.Begin('{')
	e.Field("id")
	e.String(m.ID)
	e.Field("category")
	e.String(m.Category)
	e.Field("content")
	e.String(m.Content)
	e.Field("salience")
	e.Float(m.Salience)
	e.Field("created_at")
	e.Time(m.CreatedAt.UTC())
	e.Field("last_accessed")
	if m.LastAccessed.IsZero() {
		// Programs that know only the published fields compute an age from this one.
		e.Time(m.CreatedAt.UTC())
	} else {
		e.Time(m.LastAccessed.UTC())
	}
	e.Field("access_count")
	e.Int(m.AccessCount)
	e.Field("source")
	e.String(m.Source)
	if m.Context != nil {
		encodeContext(e, m.Context)
	}
	encodeOptional(e, m)
	encodeLinks(e, m)
	if len(m.StructuredData) > 0 {
		e.Field("structured_data")
		e.Raw(m.StructuredData)
	}
	e.Extra(m.Extra, isMemoryField)
	e.End('}')
}

func encodeContext(e *strictjson.Encoder, c *memory.Context) {
	e.Field("context")
	e.Begin('{')
	text(e, "tool", c.Tool)
	text(e, "error_type", c.ErrorType)
	text(e, "learned_from", c.LearnedFrom)
	text(e, "signature", c.Signature)
	if c.Occurrences != 0 {
		e.Field("occurrences")
		e.Int(c.Occurrences)
	}
	e.Extra(c.Extra, isContextField)
	e.End('}')
}

func encodeOptional(e *strictjson.Encoder, m *memory.Memory) {
	instant(e, "updated_at", m.UpdatedAt)
	if m.Revision != 0 {
		e.Field("revision")
		e.Int(m.Revision)
	}
	if len(m.Tags) > 0 {
		e.Field("tags")
		e.Strings(m.Tags)
	}
	text(e, "title", m.Title)
	if m.Pinned {
		e.Field("pinned")
		e.Bool(true)
	}
	if m.Confidence != 1 {
		e.Field("confidence")
		e.Float(m.Confidence)
	}
	instant(e, "expires_at", m.ExpiresAt)
	if !m.IsActive() {
		e.Field("status")
		e.String(string(m.Status))
	}
}

func encodeLinks(e *strictjson.Encoder, m *memory.Memory) {
	if len(m.Supersedes) > 0 {
		e.Field("supersedes")
		e.Strings(m.Supersedes)
	}
	text(e, "superseded_by", m.SupersededBy)
	if len(m.Relations) > 0 {
		e.Field("relations")
		e.Begin('[')
		for _, r := range m.Relations {
			e.Item()
			e.BeginInline('{')
			e.Field("type")
			e.String(r.Type)
			e.Field("target")
			e.String(r.Target)
			e.Field("strength")
			e.Float(r.Strength)
			e.End('}')
		}
		e.End(']')
	}
	if len(m.Evidence) > 0 {
		e.Field("evidence")
		e.Begin('[')
		for _, v := range m.Evidence {
			e.Item()
			e.BeginInline('{')
			text(e, "log", v.Log)
			text(e, "entry", v.Entry)
			text(e, "session", v.Session)
			e.End('}')
		}
		e.End(']')
	}
}

func text(e *strictjson.Encoder, name, s string) {
	if s != "" {
		e.Field(name)
		e.String(s)
	}
}

func instant(e *strictjson.Encoder, name string, t time.Time) {
	if !t.IsZero() {
		e.Field(name)
		e.Time(t.UTC())
	}
}

func isFileField(name string) bool {
	switch name {
	case "version", "last_updated", "revision", "rolling_summary", "memories", "forgotten":
		return true
	}
	return false
}

func isMemoryField(name string) bool {
	switch name {
	case "id", "category", "content", "salience", "created_at", "last_accessed", "access_count", "source", "context",
		"updated_at", "revision", "tags", "title", "pinned", "confidence", "expires_at", "status", "supersedes",
		"superseded_by", "relations", "evidence", "structured_data":
		return true
	}
	return false
}

func isContextField(name string) bool {
	switch name {
	case "tool", "error_type", "learned_from", "signature", "occurrences":
		return true
	}
	return false
}
