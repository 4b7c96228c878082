// Package redact removes from text what must never be stored or sent to a model: secrets, passages marked private by
// the user, and context blocks that memsidecar itself injected into a prompt.
//
// Secrets are recognised by their form: known prefixes of credentials, values after names such as "password", and
// strings of high entropy, as secret scanners like gitleaks and detect-secrets do. So the package needs no list of
// secrets, and cannot prove that a text is free of them.
package redact

import (
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Text returns s without secrets, private passages and injected recall blocks. A secret becomes "[redacted:KIND]";
// the other two are removed without a trace. found counts secrets and private passages. Text is idempotent, and takes
// time linear in len(s).
func Text(s string) (clean string, found int) {
	low := lower(s)
	if hasTag(low) {
		s, found = strip(s)
		low = lower(s)
	}
	for i := range shapes {
		p := &shapes[i]
		if !p.hinted(low) {
			continue
		}
		next, n := p.replace(s)
		if n > 0 {
			s, found = next, found+n
			low = lower(s)
		}
	}
	s, n := redactHighEntropy(s)
	return s, found + n
}

// Message applies Text to every text of m. It returns m itself when nothing changed, else a copy.
func Message(m *memory.Message) (*memory.Message, int) {
	if m == nil {
		return nil, 0
	}
	c, found := *m, 0
	clean := func(s *string) {
		text, n := Text(*s)
		*s, found = text, found+n
	}
	clean(&c.Content)
	changed := c.Content != m.Content
	if m.Tool != nil {
		t := *m.Tool
		c.Tool = &t
		for _, s := range []*string{&t.Name, &t.Arguments, &t.Result, &t.Error} {
			clean(s)
		}
		changed = changed || t != *m.Tool
	}
	if !changed {
		return m, found
	}
	return &c, found
}

// isMarker reports whether s is exactly one marker left by Text.
func isMarker(s string) bool {
	body, ok := strings.CutPrefix(s, markerOpen)
	return ok && strings.IndexByte(body, ']') == len(body)-1
}

// WithoutMarkers returns s without the markers of Text. Callers use it to see whether anything but secrets is left.
func WithoutMarkers(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, markerOpen)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, "]")
	}
}

// markerOpen starts a marker: "[redacted:KIND]".
const markerOpen = "[redacted:"

func marker(kind string) string { return markerOpen + kind + "]" }

// lower folds ASCII letters only, so that offsets match those of s. Hints are ASCII or Chinese. It returns s itself
// when nothing changes, which saves an allocation in the usual case.
func lower(s string) string {
	upper := func(c byte) bool { return c >= 'A' && c <= 'Z' }
	for i := 0; i < len(s); i++ {
		if upper(s[i]) {
			b := []byte(s)
			for ; i < len(b); i++ {
				if upper(b[i]) {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
