// Package redact removes from text what must never be stored or sent to a model: secrets, passages marked private by
// the user, and context blocks that memsidecar itself injected into a prompt.
//
// Secrets are recognised by their form: known prefixes of credentials, values after names such as "password", and
// strings of high entropy, as secret scanners like gitleaks and detect-secrets do. So the package needs no list of
// secrets, and cannot prove that a text is free of them.
package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Finding is one thing that Clean takes out of a text.
type Finding struct {
	Kind     string // what it looks like: "password", "aws-key"; Private or RecallBlock
	From, To int    // offsets in bytes of the text that was given
}

// HighEntropy is the kind of what looks random, and of which nothing else is known.
const HighEntropy = "high-entropy"

// Kinds of findings that are no secrets.
const (
	Private     = privateTag     // a passage that the user marked
	RecallBlock = "recall-block" // what memsidecar itself put into a prompt
)

// Text returns s without secrets, private passages and injected recall blocks. A secret becomes "[redacted:KIND]";
// the other two are removed without a trace. found counts secrets and private passages. Text is idempotent, and takes
// time linear in len(s).
func Text(s string) (clean string, found int) {
	clean, list := Clean(s)
	return clean, countSecrets(list)
}

// Clean does what Text does and says what it took out and where, in the order of the text.
func Clean(s string) (clean string, found []Finding) { return cleanText(s, false) }

// WithoutPrivate is Clean for a text whose secrets somebody insists on: they stay, and the rest goes.
func WithoutPrivate(s string) (clean string, found []Finding) {
	if !hasTag(s) {
		return s, nil
	}
	clean, found, _ = strip(s, false)
	return clean, found
}

// Secrets returns what looks like a secret in s, without changing anything.
func Secrets(s string) []Finding { return find(s) }

// countSecrets counts secrets and private passages.
func countSecrets(list []Finding) (n int) {
	for _, f := range list {
		if f.Kind != RecallBlock {
			n++
		}
	}
	return n
}

// cleanText is Clean. In a message of a session every closed private passage counts, also a quoted one.
func cleanText(s string, message bool) (string, []Finding) {
	var found []Finding
	var back origins
	if hasTag(s) {
		s, found, back = strip(s, message)
	}
	// A replacement shortens the text, which can bring a value near a word that makes it suspect.
	for range maxRounds {
		list := find(s)
		if len(list) == 0 {
			break
		}
		for _, f := range list {
			found = append(found, back.finding(f))
		}
		s, back = replace(s, list, back)
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	return s, found
}

// maxRounds bounds how often a text is searched again after a replacement.
const maxRounds = 4

// replace puts markers in place of the findings. back leads from s to the text that was given, and the new one from
// the result.
func replace(s string, list []Finding, back origins) (string, origins) {
	var b strings.Builder
	var next origins
	last := 0
	for _, f := range list {
		next = next.join(b.Len(), back, last, f.From)
		b.WriteString(s[last:f.From])
		next = append(next, origin{b.Len(), back.source(f.From)})
		b.WriteString(marker(f.Kind))
		last = f.To
	}
	next = next.join(b.Len(), back, last, len(s))
	b.WriteString(s[last:])
	return b.String(), next
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

// lower folds ASCII letters only, so that offsets match those of s. It returns s itself when nothing changes, which
// saves an allocation in the usual case.
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
