package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// manifestOut is the output of MemoryList.
type manifestOut struct {
	Manifest []string      `json:"manifest" jsonschema:"[type/scope] file name (age): description; newest first"`
	Memories []manifestRef `json:"memories" jsonschema:"the memory of each line"`
	Total    int           `json:"total" jsonschema:"number of memories; the list has at most 200"`
}

// manifestRef says which memory a line of the manifest is about.
type manifestRef struct {
	Name  string `json:"name,omitempty" jsonschema:"for MemorySave and MemoryDelete"`
	Scope string `json:"scope" jsonschema:"user or project"`
	ID    string `json:"id"`
}

// scopedMemory is a memory with the scope that it was listed from.
type scopedMemory struct {
	*pb.Memory
	scope string
}

// listScopes runs MemoryList: the manifest of all spaces of the scope, as agents know it from memories that are files.
// It is cut at maxList lines, because the tool has no pages.
func (s *Server) listScopes(ctx context.Context, a *api, host string, in memoryListIn) (toolReply[manifestOut], error) {
	spaces, err := s.scopeSpaces(ctx, a, host, cmp.Or(in.Scope, "all"))
	if err != nil {
		return toolReply[manifestOut]{}, err
	}
	out := manifestOut{Manifest: []string{}, Memories: []manifestRef{}}
	var all []scopedMemory
	for i, space := range spaces {
		scope := "user"
		if i > 0 || in.Scope == "project" {
			scope = "project"
		}
		page, err := a.memory.List(ctx, &pb.MemoryServiceListRequest{
			Space: space, PageSize: maxList, Order: pb.MemoryOrder_MEMORY_ORDER_UPDATED,
		})
		if err != nil {
			return toolReply[manifestOut]{}, err
		}
		out.Total += int(page.GetTotal())
		for _, m := range page.GetMemories() {
			all = append(all, scopedMemory{m, scope})
		}
	}
	slices.SortStableFunc(all, func(a, b scopedMemory) int { return knownAt(b).Compare(knownAt(a)) })
	for _, m := range all[:min(len(all), maxList)] {
		out.Manifest = append(out.Manifest, s.manifestLine(m))
		out.Memories = append(out.Memories, manifestRef{recall.Shown(m.GetTitle()), m.scope, m.GetId()})
	}
	if len(out.Manifest) == 0 {
		return toolReply[manifestOut]{out, "Nothing is remembered here yet."}, nil
	}
	return toolReply[manifestOut]{out, recall.Quoted(nonce(), strings.Join(out.Manifest, " "), out.Manifest, 0)}, nil
}

// manifestLine is "[type/scope] file name (age): description", without the colon when there is no description.
func (s *Server) manifestLine(m scopedMemory) string {
	title, _, _ := strings.Cut(cmp.Or(m.GetTitle(), m.GetContent()), "\n")
	line := fmt.Sprintf("[%s/%s] %s.md (%s)", memory.EntryType(m.GetCategory()), m.scope,
		memory.EntryName(m.GetCategory(), title, m.GetId()), recall.Age(knownAt(m), s.cfg.Now(), recall.English))
	if about := strings.Join(strings.Fields(recall.Shown(m.GetDescription())), " "); about != "" {
		line += ": " + about
	}
	return line
}

// knownAt is since when a memory says what it says.
func knownAt(m scopedMemory) time.Time { return m.GetContentAt().AsTime() }
