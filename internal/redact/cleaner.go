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
	Found   []memory.Redaction // in the order of the calls and of the text
	Changed bool               // some text is another one now
}

// Text returns s without what must not be stored; a text of which only spaces are left becomes "". field names s in
// Found.
func (c *Cleaner) Text(field, s string) string {
	clean := Clean
	if c.Keep {
		clean = WithoutPrivate
	}
	text, list := clean(s)
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
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return text
}
