package memorysvc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
)

// redactMemory redacts every text of m, which shares nothing with another memory (see memory.Texts).
func redactMemory(c *redact.Cleaner, m *memory.Memory) {
	for field, s := range m.NamedTexts() {
		*s = c.Text(field, *s)
	}
	m.SetStructuredData(redactJSON(c, "structured_data", m.StructuredData()))
}

// redactChange redacts what a change of before made of m: a text that was there stays as it is, because what a person
// wrote into a published file is theirs.
func redactChange(c *redact.Cleaner, m, before *memory.Memory) {
	kept := map[string]bool{}
	for s := range before.Texts() {
		kept[*s] = true
	}
	for field, s := range m.NamedTexts() {
		if !kept[*s] {
			*s = c.Text(field, *s)
		}
	}
	if !bytes.Equal(m.StructuredData(), before.StructuredData()) {
		m.SetStructuredData(redactJSON(c, "structured_data", m.StructuredData()))
	}
}

// redactEntry redacts every text of a log entry.
func redactEntry(c *redact.Cleaner, e *memory.Entry) {
	e.Content, e.Tool, e.Error = c.Text("content", e.Content), c.Text("tool", e.Tool), c.Text("error", e.Error)
}

// redactJSON redacts the strings inside a JSON value. Invalid JSON is returned unchanged and rejected by validation.
func redactJSON(c *redact.Cleaner, field string, raw json.RawMessage) json.RawMessage {
	return changeJSON(c, raw, func(inside *redact.Cleaner, value any) any { return redactValue(inside, field, value) })
}

// changeJSON decodes a JSON value, lets change redact it, and encodes it again if something had to go.
func changeJSON(c *redact.Cleaner, raw json.RawMessage, change func(*redact.Cleaner, any) any) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return raw
	}
	inside := redact.Cleaner{Keep: c.Keep}
	value = change(&inside, value)
	if !inside.Changed {
		return raw
	}
	out, err := json.Marshal(value)
	if err != nil {
		return raw // impossible: the value was decoded from JSON
	}
	c.Found, c.Changed = append(c.Found, inside.Found...), true
	return out
}

// redactValue redacts a decoded JSON value; maps and slices are changed in place.
func redactValue(c *redact.Cleaner, field string, value any) any {
	switch v := value.(type) {
	case string:
		return c.Text(field, v)
	case []any:
		for i, item := range v {
			v[i] = redactValue(c, fmt.Sprintf("%s[%d]", field, i), item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			clean, member := c.Text(field+".name", key), redactMember(c, field+"."+redactText(key), key, v[key])
			if clean != key {
				delete(v, key)
			}
			v[clean] = member
		}
	}
	return value
}

// redactMember redacts the value of a member. Some secrets are recognised only by their name: "password": "…".
func redactMember(c *redact.Cleaner, field, name string, value any) any {
	s, ok := value.(string)
	if !ok {
		return redactValue(c, field, value)
	}
	if clean := c.Text(field, s); clean != s || c.Keep {
		return clean
	}
	list := redact.Secrets(name + "=" + s)
	if len(list) == 0 {
		return s
	}
	c.Changed = true
	c.Found = append(c.Found, memory.Redaction{Field: field, Kind: list[0].Kind, To: utf8.RuneCountInString(s)})
	return "[redacted]"
}

// redactText is the text without what must not be stored, where nobody asks what that was.
func redactText(s string) string {
	var c redact.Cleaner
	return c.Text("", s)
}

// looksSecret reports whether an id has the form of a known secret. Ids that are only random are none.
func looksSecret(id string) bool {
	return slices.ContainsFunc(redact.Secrets(id), func(f redact.Finding) bool { return f.Kind != redact.HighEntropy })
}

// SecretsIn names what looks like a secret in a memory, unknown fields included: kinds, separated by commas, "" for
// nothing. Nothing is changed.
func SecretsIn(m *memory.Memory) string {
	var k kinds
	for s := range m.Texts() {
		k.add(*s)
	}
	k.add(string(m.StructuredData()))
	k.addAll(m.Extra())
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

// SecretsInDay is SecretsIn for the header of a daily log.
func SecretsInDay(d *memory.Day) string {
	var k kinds
	k.add(d.Summary)
	k.addAll(d.Extra)
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
