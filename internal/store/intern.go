package store

import (
	"slices"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Bounds of what an interner keeps, of either kind.
const (
	// maxInterned bounds the entries of each kind; longestInterned bounds a word, in bytes.
	maxInterned     = 4096
	longestInterned = 64
)

// interner lets memories share equal strings: category, source, status and tags. At 100,000 memories it saves some
// 400,000 objects that every garbage collection would visit. The zero value is ready to use. It is safe for concurrent
// use.
type interner struct {
	mu    sync.RWMutex
	words map[string]string   // guarded by mu
	lists map[string][]string // by their first word; guarded by mu
}

// memory replaces the strings of m by shared ones, and drops an empty More. m must not be shared yet.
func (in *interner) memory(m *memory.Memory) {
	m.Trim()
	if in.known(m) {
		return
	}
	m.Category, m.Source, m.Status = in.word(m.Category), in.word(m.Source), memory.Status(in.word(string(m.Status)))
	if len(m.Tags) > 0 {
		m.Tags = in.list(m.Tags)
	}
}

// known is memory for one all of whose strings are known, as those of nearly all are. It reports whether they are.
func (in *interner) known(m *memory.Memory) bool {
	in.mu.RLock()
	defer in.mu.RUnlock()
	tags := m.Tags
	if len(tags) > 0 {
		tags = in.lists[tags[0]]
	}
	category, a := in.words[m.Category]
	source, b := in.words[m.Source]
	status, c := in.words[string(m.Status)]
	if !a || !b || !c || !slices.Equal(tags, m.Tags) {
		return false
	}
	m.Category, m.Source, m.Status, m.Tags = category, source, memory.Status(status), tags
	return true
}

// clear drops all entries. A purge calls it, because a tag may hold erased text.
func (in *interner) clear() {
	in.mu.Lock()
	defer in.mu.Unlock()
	clear(in.words)
	clear(in.lists)
}

// word returns a shared copy of s. Long and surplus words are returned as they are.
func (in *interner) word(s string) string {
	in.mu.RLock()
	known, ok := in.words[s]
	in.mu.RUnlock()
	if ok {
		return known
	}
	if s == "" || len(s) > longestInterned {
		return s
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.words == nil {
		in.words = map[string]string{}
	}
	if len(in.words) < maxInterned {
		in.words[s] = s
	}
	return s
}

// list is word for a list of tags. Of the lists that begin with the same tag it keeps the newest.
func (in *interner) list(tags []string) []string {
	in.mu.RLock()
	known := in.lists[tags[0]]
	in.mu.RUnlock()
	if slices.Equal(known, tags) {
		return known
	}
	out := make([]string, len(tags))
	for i, t := range tags {
		out[i] = in.word(t)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.lists == nil {
		in.lists = map[string][]string{}
	}
	if len(in.lists) < maxInterned || known != nil {
		in.lists[out[0]] = out
	}
	return out
}
