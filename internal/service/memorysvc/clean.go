package memorysvc

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// Clean takes out of every text of m what must not be stored, as Add does. What comes from elsewhere can have unknown
// fields; they are cleaned, too.
func Clean(c *redact.Cleaner, m *memory.Memory) {
	redactMemory(c, m)
	m.SetExtra(cleanExtra(c, "", m.Extra()))
	if m.Context() != nil {
		m.Context().Extra = cleanExtra(c, "context.", m.Context().Extra)
	}
}

// CleanEntry is Clean for an entry of a daily log.
func CleanEntry(c *redact.Cleaner, e *memory.Entry) {
	redactEntry(c, e)
	e.Extra = cleanExtra(c, "", e.Extra)
}

// CleanDay is Clean for the header of a daily log.
func CleanDay(c *redact.Cleaner, d *memory.Day) {
	d.Summary = c.Text("summary", d.Summary)
	d.Extra = cleanExtra(c, "", d.Extra)
}

// cleanExtra returns unknown fields without what must not be stored; the map itself when nothing has to go.
func cleanExtra(c *redact.Cleaner, prefix string, extra map[string]json.RawMessage) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		// A value is judged by its name as well.
		raw := changeJSON(c, extra[name], func(inside *redact.Cleaner, value any) any {
			return redactMember(inside, prefix+redactText(name), name, value)
		})
		clean := c.Text(prefix+"name", name)
		if bytes.Equal(raw, extra[name]) && clean == name {
			continue
		}
		if out == nil {
			out = maps.Clone(extra)
		}
		delete(out, name)
		out[clean] = raw
	}
	if out == nil {
		return extra
	}
	return out
}

// CleanText is Clean for one text.
func CleanText(s string) string { return redactText(s) }
