package memorysvc

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
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

// redactChange redacts what a change of before made of m: a text that was there stays as it is, because what a person
// wrote into a published file is theirs. It reports whether anything changed.
func redactChange(m, before *memory.Memory) (found bool) {
	kept := map[string]bool{}
	for s := range before.Texts() {
		kept[*s] = true
	}
	for s := range m.Texts() {
		if kept[*s] {
			continue
		}
		text, changed := redactText(*s)
		*s, found = text, found || changed
	}
	if bytes.Equal(m.StructuredData, before.StructuredData) {
		return found
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

// SecretsIn names what looks like a secret in a memory, unknown fields included: kinds, separated by commas, "" for
// nothing. Nothing is changed.
func SecretsIn(m *memory.Memory) string {
	var k kinds
	for s := range m.Texts() {
		k.add(*s)
	}
	k.add(string(m.StructuredData))
	k.addAll(m.Extra)
	return k.String()
}

// SecretsInEntry is SecretsIn for an entry of a daily log.
func SecretsInEntry(e *memory.Entry) string {
	var k kinds
	for _, s := range []string{e.Content, e.Tool, e.Error} {
		k.add(s)
	}
	k.addAll(e.Extra)
	return k.String()
}

// SecretsInText is SecretsIn for one text.
func SecretsInText(s string) string {
	var k kinds
	k.add(s)
	return k.String()
}

// kinds of findings, each once, in the order of their appearance.
type kinds []string

func (k *kinds) add(s string) {
	for _, f := range redact.Secrets(s) {
		if !slices.Contains(*k, f.Kind) {
			*k = append(*k, f.Kind)
		}
	}
}

// addAll adds unknown fields, each with its name, which may say what the value is.
func (k *kinds) addAll(extra map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		k.add(`"` + name + `":` + string(extra[name]))
	}
}

func (k *kinds) String() string { return strings.Join(*k, ", ") }
