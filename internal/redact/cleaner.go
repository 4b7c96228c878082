package redact

import (
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Cleaner takes out of the fields of one item what must not be stored, and lists what it took out. The zero value is
// ready for use; it is not safe for concurrent use.
type Cleaner struct {
	Keep    bool               // secrets stay, because somebody insists on them; private passages and recall blocks go
	Message bool               // the texts are of a message of a session, where quoted private passages count too
	Found   []memory.Redaction // in the order of the calls and of the text
	Changed bool               // some text is another one now
}

// Text returns s without what must not be stored; a text of which only spaces are left becomes "". field names s in
// Found.
func (c *Cleaner) Text(field, s string) string {
	var text string
	var list []Finding
	switch {
	case c.Message:
		text, list = cleanText(s, true)
	case c.Keep:
		text, list = WithoutPrivate(s)
	default:
		text, list = Clean(s)
	}
	if text == s {
		return s
	}
	c.Changed = true
	at, characters := 0, 0 // the findings are sorted, so their places are counted in one pass
	for _, f := range list {
		if f.From < at { // two of the same place
			at, characters = 0, 0
		}
		characters += utf8.RuneCountInString(s[at:f.From])
		at = f.From
		c.Found = append(c.Found, memory.Redaction{Field: field, Kind: f.Kind, From: characters,
			To: characters + utf8.RuneCountInString(s[f.From:f.To])})
	}
	if strings.TrimSpace(text) == "" && !c.Message {
		return ""
	}
	return text
}

// Message returns m without what must not be stored, and what that was, by the fields content, tool.name,
// tool.arguments, tool.result and tool.error. It returns m itself when nothing changed, else a copy.
func Message(m *memory.Message) (*memory.Message, []memory.Redaction) {
	if m == nil {
		return nil, nil
	}
	clean, c := *m, Cleaner{Message: true}
	clean.Content = c.Text("content", m.Content)
	if m.Tool != nil {
		t := *m.Tool
		clean.Tool = &t
		t.Name, t.Arguments = c.Text("tool.name", t.Name), c.Text("tool.arguments", t.Arguments)
		t.Result, t.Error = c.Text("tool.result", t.Result), c.Text("tool.error", t.Error)
	}
	if !c.Changed {
		return m, nil
	}
	return &clean, c.Found
}

// CountSecrets counts the secrets and private passages among what was taken out; recall blocks are neither.
func CountSecrets(list []memory.Redaction) (n int) {
	for _, r := range list {
		if r.Kind != RecallBlock {
			n++
		}
	}
	return n
}
