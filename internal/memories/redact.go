package memories

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

func redactText(s string) (string, bool) {
	clean, _ := redact.Text(s)
	if clean != s && strings.TrimSpace(clean) == "" {
		clean = ""
	}
	return clean, clean != s
}

// redactMemory cleans every text of m and reports whether something had to go.
func redactMemory(m *memory.Memory) bool {
	found := false
	clean := func(s *string) {
		text, changed := redactText(*s)
		*s, found = text, found || changed
	}
	clean(&m.Content)
	clean(&m.Title)
	for i := range m.Tags {
		clean(&m.Tags[i])
	}
	if x := m.Context; x != nil {
		clean(&x.Tool)
		clean(&x.ErrorType)
		clean(&x.LearnedFrom)
		clean(&x.Signature)
	}
	raw, changed := redactJSON(m.StructuredData)
	m.StructuredData = raw
	return found || changed
}

// redactJSON cleans the strings inside a JSON value. What is not JSON is left to validation.
func redactJSON(raw json.RawMessage) (json.RawMessage, bool) {
	if len(raw) == 0 {
		return raw, false
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return raw, false
	}
	value, changed := redactValue(value)
	if !changed {
		return raw, false
	}
	out, err := json.Marshal(value)
	if err != nil {
		return raw, false // cannot be: it was decoded from JSON
	}
	return out, true
}

// redactValue changes maps and slices in place.
func redactValue(value any) (_ any, changed bool) {
	switch v := value.(type) {
	case string:
		return redactText(v)
	case []any:
		for i, item := range v {
			clean, c := redactValue(item)
			v[i], changed = clean, changed || c
		}
	case map[string]any:
		for key, item := range v {
			clean, c := redactValue(item)
			if s, ok := item.(string); ok && !c {
				// A secret is often known only by the name it stands beside: "password": "…".
				if _, c = redactText(key + "=" + s); c {
					clean = "[redacted]"
				}
			}
			v[key], changed = clean, changed || c
		}
	}
	return value, changed
}

// Redact takes out of every text of m what must not be stored, as Add does, and reports whether something had to go. A content that
// was nothing else is empty then. m must not be shared.
func Redact(m *memory.Memory) bool { return redactMemory(m) }

// RedactText does the same for a single text.
func RedactText(s string) (clean string, changed bool) { return redactText(s) }
