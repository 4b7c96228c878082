package recall

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/toolcall"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// toolIndex maps tools to the active procedural memories about them, of spaces that were read: of a small one when it is
// first asked for. It is safe for concurrent use.
type toolIndex struct {
	mu     sync.RWMutex
	spaces map[string]*spaceTools // guarded by mu
	// changes counts those of procedural memories, also of spaces that were not read. Guarded by mu.
	changes int64
}

// spaceTools is the index of one space. Tools are keyed by their canonical names, so that a rule of one host is found
// in all.
type spaceTools struct {
	tool map[string]string            // tool by memory id; nil while there is none
	ids  map[string]map[string]string // by tool: memory ids with the tool's name as the memory writes it
}

func newToolIndex() *toolIndex { return &toolIndex{spaces: map[string]*spaceTools{}} }

// read reads a space, unless that was done.
func (t *toolIndex) read(st *store.Store, space string) {
	t.mu.RLock()
	known, changes := t.spaces[space] != nil, t.changes
	t.mu.RUnlock()
	// The store is read without t.mu, because it calls apply under its own lock. After a change in between it is read
	// again.
	for !known && st.Space(space).Count() > 0 {
		sp := &spaceTools{}
		for _, m := range st.Space(space).Memories() {
			sp.put(m.ID, m)
		}
		t.mu.Lock()
		if known = t.changes == changes; known {
			t.spaces[space] = sp
		}
		changes = t.changes
		t.mu.Unlock()
	}
}

// apply brings the index forward by one changed memory.
func (t *toolIndex) apply(space string, c *journal.MemoryChange) {
	if toolOf(c.Before) == "" && toolOf(c.After) == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
	if sp := t.spaces[space]; sp != nil {
		sp.put(c.ID, c.After)
	}
}

// toolOf returns the tool that a procedural memory is about, or "".
func toolOf(m *memory.Memory) string {
	if m == nil || m.Context() == nil || m.Category != memory.Procedural {
		return ""
	}
	return m.Context().Tool
}

// put replaces the entry of a memory; m is nil if it was purged.
func (sp *spaceTools) put(id string, m *memory.Memory) {
	name := toolOf(m)
	if name != "" && !m.IsActive() {
		name = ""
	}
	// The tool of a memory may have changed; the old entry goes first.
	if old, ok := sp.tool[id]; ok {
		delete(sp.tool, id)
		if delete(sp.ids[old], id); len(sp.ids[old]) == 0 {
			delete(sp.ids, old)
		}
	}
	if name != "" {
		if sp.tool == nil {
			sp.tool, sp.ids = map[string]string{}, map[string]map[string]string{}
		}
		tool := toolcall.Canonical(name)
		if sp.ids[tool] == nil {
			sp.ids[tool] = map[string]string{}
		}
		sp.tool[id], sp.ids[tool][id] = tool, name
	}
}

// about returns the ids of the memories about the tools in use and the tools that a prompt mentions.
func (t *toolIndex) about(st *store.Store, space string, working []string, prompt string) (ids []string) {
	t.read(st, space)
	t.mu.RLock()
	defer t.mu.RUnlock()
	sp := t.spaces[space]
	if sp == nil { // there is no such space
		return nil
	}
	for tool, of := range sp.ids {
		used := slices.ContainsFunc(working, func(w string) bool { return toolcall.Canonical(w) == tool })
		for id, name := range of {
			if used || mentionsTool(prompt, name) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// mentionsTool reports whether a prompt names a tool. Many tools have a common word as their name, such as Read or
// search; such a name counts only between back quotes.
func mentionsTool(prompt, tool string) bool {
	if tool == "" {
		return false
	}
	if strings.Contains(prompt, "`"+tool+"`") {
		return true
	}
	if !looksLikeIdentifier(tool) {
		return false
	}
	for from := 0; ; {
		at := strings.Index(prompt[from:], tool)
		if at < 0 {
			return false
		}
		start, end := from+at, from+at+len(tool)
		if (start == 0 || !isNameByte(prompt[start-1])) && (end == len(prompt) || !isNameByte(prompt[end])) {
			return true
		}
		from = end
	}
}

// isNameByte reports whether c can be part of an identifier.
func isNameByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }

// looksLikeIdentifier reports whether a name has several parts or an upper-case letter inside, unlike a plain word.
func looksLikeIdentifier(name string) bool {
	return strings.ContainsAny(name, "_-./:0123456789") ||
		strings.ContainsFunc(name[1:], unicode.IsUpper) && strings.ContainsFunc(name, unicode.IsLower)
}

// sortRules orders rules: the user's corrections and pinned ones first, then by occurrences, salience and age.
func sortRules(rules []candidate) {
	slices.SortFunc(rules, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(correctionRank(b.memory), correctionRank(a.memory)),
			cmp.Compare(b.memory.Context().Occurrences, a.memory.Context().Occurrences),
			cmp.Compare(b.memory.Salience, a.memory.Salience),
			b.memory.CreatedAt.Compare(a.memory.CreatedAt),
			cmp.Compare(a.memory.ID, b.memory.ID),
		)
	})
}

// correctionRank is 1 for a rule that the user gave or pinned, else 0.
func correctionRank(m *memory.Memory) int {
	if m.Source == memory.SourceUserCorrection || m.Pinned {
		return 1
	}
	return 0
}
