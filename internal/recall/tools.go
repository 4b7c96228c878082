package recall

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Tools knows which memories are about which tool. It follows the journal as a store.Projection.
type Tools struct {
	mu     sync.RWMutex
	spaces map[string]*spaceTools // guarded by mu
}

type spaceTools struct {
	tool map[string]string          // by memory
	ids  map[string]map[string]bool // memories by tool, in lower case
	name map[string]string          // of the tool as it was written, by the same
}

// NewTools returns a Tools that knows nothing.
func NewTools() *Tools { return &Tools{spaces: map[string]*spaceTools{}} }

// Load takes what a store holds. What is applied from then on is applied to that.
func (t *Tools) Load(st *store.Store) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, space := range st.Spaces() {
		for _, m := range st.Space(space).Memories() {
			t.putLocked(space, m.ID, m)
		}
	}
}

// Apply follows one record; it implements store.Projection.
func (t *Tools) Apply(rec *journal.Record) {
	for i := range rec.Changes {
		if c := rec.Changes[i].Memory; c != nil && (toolOf(c.Before) != "" || toolOf(c.After) != "") {
			t.mu.Lock()
			t.putLocked(rec.Space, c.ID, c.After)
			t.mu.Unlock()
		}
	}
}

// toolOf is the tool that a procedural memory is about, "" for none.
func toolOf(m *memory.Memory) string {
	if m == nil || m.Context == nil || m.Category != memory.Procedural {
		return ""
	}
	return m.Context.Tool
}

func (t *Tools) putLocked(space, id string, m *memory.Memory) {
	sp := t.spaces[space]
	name := toolOf(m)
	if name != "" && !m.IsActive() {
		name = ""
	}
	if sp == nil {
		if name == "" {
			return
		}
		sp = &spaceTools{tool: map[string]string{}, ids: map[string]map[string]bool{}, name: map[string]string{}}
		t.spaces[space] = sp
	}
	if old, ok := sp.tool[id]; ok {
		delete(sp.tool, id)
		if delete(sp.ids[old], id); len(sp.ids[old]) == 0 {
			delete(sp.ids, old)
			delete(sp.name, old)
		}
	}
	if name != "" {
		low := strings.ToLower(name)
		if sp.ids[low] == nil {
			sp.ids[low] = map[string]bool{}
		}
		sp.tool[id], sp.ids[low][id], sp.name[low] = low, true, name
	}
}

// about lists the memories about the tools in use, and about those that a prompt names.
func (t *Tools) about(space string, working []string, prompt string) (ids []string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	sp := t.spaces[space]
	if sp == nil {
		return nil
	}
	for low, of := range sp.ids {
		if slices.ContainsFunc(working, func(w string) bool { return strings.EqualFold(w, low) }) || names(prompt, sp.name[low]) {
			for id := range of {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// names reports whether a prompt speaks of a tool. Many tools are called by a common word, such as Read or search: that word
// counts only between back quotes.
func names(prompt, tool string) bool {
	if tool == "" {
		return false
	}
	if strings.Contains(prompt, "`"+tool+"`") {
		return true
	}
	if !identifier(tool) {
		return false
	}
	for from := 0; ; {
		at := strings.Index(prompt[from:], tool)
		if at < 0 {
			return false
		}
		start, end := from+at, from+at+len(tool)
		if (start == 0 || !inName(prompt[start-1])) && (end == len(prompt) || !inName(prompt[end])) {
			return true
		}
		from = end
	}
}

func inName(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }

// identifier reports whether a name looks like one: of several parts, or with an upper-case letter inside.
func identifier(name string) bool {
	return strings.ContainsAny(name, "_-./:0123456789") ||
		strings.ContainsFunc(name[1:], unicode.IsUpper) && strings.ContainsFunc(name, unicode.IsLower)
}

// sortRules puts rules that the user gave first, then those of failures seen most often.
func sortRules(rules []choice) {
	slices.SortFunc(rules, func(a, b choice) int {
		return cmp.Or(
			cmp.Compare(correction(b.memory), correction(a.memory)),
			cmp.Compare(b.memory.Context.Occurrences, a.memory.Context.Occurrences),
			cmp.Compare(b.memory.Salience, a.memory.Salience),
			b.memory.CreatedAt.Compare(a.memory.CreatedAt),
			cmp.Compare(a.memory.ID, b.memory.ID),
		)
	})
}

func correction(m *memory.Memory) int {
	if m.Source == memory.SourceUserCorrection || m.Pinned {
		return 1
	}
	return 0
}
