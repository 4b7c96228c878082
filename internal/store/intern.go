package store

import (
	"slices"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Bounds of what an interner keeps, of either kind.
const (
	maxInterned     = 4096
	longestInterned = 64 // bytes of a word
)

// interner lets memories share what many of them say in the same words: category, source, status and tags. A store of 100,000 memories has some
// 400,000 objects less by it, all of which every collection of garbage would visit. The zero value is ready to use, by several goroutines.
type interner struct {
	mu    sync.RWMutex
	words map[string]string   // guarded by mu
	lists map[string][]string // by their first word; guarded by mu
}

// memory makes m share what it can. Nobody else may know m yet.
func (in *interner) memory(m *memory.Memory) {
	m.Category, m.Source, m.Status = in.word(m.Category), in.word(m.Source), memory.Status(in.word(string(m.Status)))
	if len(m.Tags) > 0 {
		m.Tags = in.list(m.Tags)
	}
}

// drop forgets everything, for a purge: what was erased may have stood in a tag.
func (in *interner) drop() {
	in.mu.Lock()
	defer in.mu.Unlock()
	clear(in.words)
	clear(in.lists)
}

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

// list is for tags: of those that begin with the same word the newest is kept.
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
