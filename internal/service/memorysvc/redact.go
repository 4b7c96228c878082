package memorysvc

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// redactText redacts s and reports whether it changed.
func redactText(s string) (string, bool) {
	clean, _ := redact.Text(s)
	if clean != s && strings.TrimSpace(clean) == "" {
		clean = ""
	}
	return clean, clean != s
}

// redactMemory redacts every text of m and reports whether anything changed.
func redactMemory(m *memory.Memory) bool {
	found := false
	for s := range m.Texts() {
		text, changed := redactText(*s)
		*s, found = text, found || changed
	}
	raw, changed := redactJSON(m.StructuredData)
	m.StructuredData = raw
	return found || changed
}

// redactJSON redacts the strings inside a JSON value. Invalid JSON is returned unchanged and rejected by validation.
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
		return raw, false // impossible: the value was decoded from JSON
	}
	return out, true
}

// redactValue redacts a decoded JSON value; maps and slices are changed in place.
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
				// Some secrets are recognised only by their name: "password": "…".
				if _, c = redactText(key + "=" + s); c {
					clean = "[redacted]"
				}
			}
			v[key], changed = clean, changed || c
		}
	}
	return value, changed
}

// Redact redacts every text of m, as Add does, and reports whether anything changed. A content that consists of
// secrets becomes empty. m must not be shared.
func Redact(m *memory.Memory) bool { return redactMemory(m) }

// RedactText redacts a single text and reports whether it changed.
func RedactText(s string) (clean string, changed bool) { return redactText(s) }
