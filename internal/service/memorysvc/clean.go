package memorysvc

import "github.com/memsidecar/memsidecar/internal/memory"

// Clean takes out of every text of m what must not be stored, as Add does, and reports whether something had to go.
func Clean(m *memory.Memory) bool { return redactMemory(m) }

// CleanEntry is Clean for an entry of a daily log.
func CleanEntry(e *memory.Entry) (found bool) {
	for _, text := range []*string{&e.Content, &e.Tool, &e.Error} {
		clean, changed := redactText(*text)
		*text, found = clean, found || changed
	}
	return found
}

// CleanText is Clean for one text.
func CleanText(s string) string {
	clean, _ := redactText(s)
	return clean
}
