package recall

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory/agentstate"
)

const smallBudget = 250 // tokens; below that the guidance is one sentence

// toolNames are how an agent calls the memory tools of a set: to save, to search and to forget; "" where a set has
// none.
var toolNames = map[string][3]string{
	"default":       {"memory_write", "memory_search", "memory_delete"},
	"server-memory": {"create_entities, add_observations", "search_nodes", "delete_entities, delete_observations"},
	"remember":      {"remember (action save)", "remember (action recall)", "remember (action forget)"},
	"memory-tools":  {"MemorySave", "MemorySearch", "MemoryDelete"},
	"search-fetch":  {"", "search", ""},
}

// toolSets lists the sets of tools that a request may name, for an error.
func toolSets() string { return strings.Join(slices.Sorted(maps.Keys(toolNames)), ", ") }

// contextHead is what stands above the sections of a context: what to check before recommending from memory, the date,
// what to do with what is known of the user, and how to save, search and forget. Below smallBudget it is one sentence
// and the date. Without sections there is nothing to rely on or to use.
func contextHead(req *ContextRequest, now time.Time, empty bool) string {
	w := phrasesByLanguage[req.Language]
	date := fmt.Sprintf(w.now, agentstate.DateTime(now, req.Language == Chinese))
	if req.Tokens < smallBudget {
		return w.short + "\n" + date + "\n"
	}
	lines := []string{w.guide, date, w.use}
	if empty {
		lines = []string{date}
	}
	for i, name := range toolNames[req.Tools] {
		if name != "" {
			lines = append(lines, fmt.Sprintf(w.tools[i], name))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
