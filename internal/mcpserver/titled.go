package mcpserver

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// The tools of this file have the names and arguments that agents know from memories kept as files, one by title.

type rememberIn struct {
	Action     string `json:"action" jsonschema:"save, recall or forget"`
	Title      string `json:"title,omitempty" jsonschema:"for save and forget: the exact title"`
	Content    string `json:"content,omitempty" jsonschema:"for save: what to remember"`
	MemoryType string `json:"memory_type,omitempty" jsonschema:"for save: user, feedback, project or reference"`
	Query      string `json:"query,omitempty" jsonschema:"for recall: what to look for"`
}

type rememberOut struct {
	Status   string  `json:"status" jsonschema:"ok"`
	Action   string  `json:"action"`
	Title    string  `json:"title,omitempty"`
	Change   *change `json:"change,omitempty"`
	Memories []found `json:"memories,omitempty"`
}

type change struct {
	Operation int64  `json:"operation" jsonschema:"0 when nothing changed"`
	What      string `json:"what" jsonschema:"add, update, noop or forget"`
}

func (s *Server) addRemember(server *mcp.Server) {
	add(s, server, spec{
		name: "remember", title: "Remember", effect: replaces,
		description: "Long-term memory across sessions. save: keep something under a title, which replaces what that title had. recall: find what fits a query, at most five. " +
			"forget: remove what has exactly that title. " + whatToSave,
		limits: func(p map[string]*jsonschema.Schema) {
			oneOf(p["action"], "save", "recall", "forget")
			oneOf(p["memory_type"], "user", "feedback", "project", "reference")
			text(p["title"], 0, memory.MaxTitle)
			text(p["content"], 0, memory.MaxContent)
		},
	}, s.remember)
}

func (s *Server) remember(ctx context.Context, a *api, _ string, in rememberIn) (reply[rememberOut], error) {
	out := rememberOut{Status: "ok", Action: in.Action, Title: in.Title}
	switch {
	case in.Action == "save" && (in.Title == "" || in.Content == ""):
		return reply[rememberOut]{}, askError("save needs a title and a content.")
	case in.Action == "recall" && in.Query == "":
		return reply[rememberOut]{}, askError("recall needs a query.")
	case in.Action == "forget" && in.Title == "":
		return reply[rememberOut]{}, askError("forget needs the exact title; recall finds it.")
	}
	switch in.Action {
	case "save":
		w, err := s.writeTitled(ctx, a, writeIn{Content: in.Content, Category: in.MemoryType, Title: in.Title})
		out.Change = &change{w.value.Operation, w.value.Decision}
		return reply[rememberOut]{out, w.text}, err
	case "forget":
		result, err := forget(ctx, a, readIn{Title: in.Title})
		out.Change = &change{result.GetOperation(), "forget"}
		return reply[rememberOut]{out, fmt.Sprintf("Forgot %q (operation %d).", in.Title, result.GetOperation())}, err
	default:
		hits, err := s.searchMemories(ctx, a, []string{a.space}, searchIn{Query: in.Query})
		out.Memories = hits.value.Memories
		return reply[rememberOut]{out, hits.text}, err
	}
}

type memorySearchIn struct {
	Query      string `json:"query" jsonschema:"what to look for"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"most results, 1 to 20; default 5"`
	Scope      string `json:"scope,omitempty" jsonschema:"user, project or all; default all"`
}

type memorySaveIn struct {
	Name    string `json:"name" jsonschema:"short name; what has this name is replaced"`
	Content string `json:"content" jsonschema:"what to remember"`
	Type    string `json:"type,omitempty" jsonschema:"user, feedback, project or reference"`
	Scope   string `json:"scope,omitempty" jsonschema:"user for all projects, project for this one; default user"`
}

type memoryDeleteIn struct {
	Name  string `json:"name" jsonschema:"exact name"`
	Scope string `json:"scope,omitempty" jsonschema:"user or project; default user"`
}

type memoryListIn struct {
	Scope string `json:"scope,omitempty" jsonschema:"user, project or all; default all"`
}

func (s *Server) addMemoryTools(server *mcp.Server) {
	scopes := func(p map[string]*jsonschema.Schema) { oneOf(p["scope"], "user", "project", "all") }
	one := func(p map[string]*jsonschema.Schema) {
		oneOf(p["scope"], "user", "project")
		text(p["name"], 1, memory.MaxTitle)
	}
	add(s, server, spec{
		name: "MemorySearch", title: "Search memory", effect: reads, limits: func(p map[string]*jsonschema.Schema) { scopes(p); count(p["max_results"], maxTopK) },
		description: "Search long-term memories. Returns those that fit, with a warning for old ones, and nothing when nothing fits.",
	}, func(ctx context.Context, a *api, host string, in memorySearchIn) (reply[searchOut], error) {
		spaces, err := s.scope(ctx, a, host, cmp.Or(in.Scope, "all"))
		if err != nil {
			return reply[searchOut]{}, err
		}
		return s.searchMemories(ctx, a, spaces, searchIn{Query: in.Query, TopK: in.MaxResults})
	})
	add(s, server, spec{
		name: "MemorySave", title: "Save memory", effect: saves, description: "Save a memory under a name, which replaces what that name had. " + whatToSave,
		limits: func(p map[string]*jsonschema.Schema) {
			one(p)
			oneOf(p["type"], "user", "feedback", "project", "reference")
			text(p["content"], 1, memory.MaxContent)
		},
	}, func(ctx context.Context, a *api, host string, in memorySaveIn) (reply[writeOut], error) {
		scoped, err := s.scoped(ctx, a, host, in.Scope)
		if err != nil {
			return reply[writeOut]{}, err
		}
		return s.writeTitled(ctx, scoped, writeIn{Title: in.Name, Content: in.Content, Category: in.Type})
	})
	add(s, server, spec{
		name: "MemoryDelete", title: "Delete memory", effect: replaces, limits: one, description: "Forget the memory with exactly this name. It is kept for restoring, and not learnt again.",
	}, func(ctx context.Context, a *api, host string, in memoryDeleteIn) (reply[deleteOut], error) {
		scoped, err := s.scoped(ctx, a, host, in.Scope)
		if err != nil {
			return reply[deleteOut]{}, err
		}
		return s.delete(ctx, scoped, host, readIn{Title: in.Name})
	})
	add(s, server, spec{
		name: "MemoryList", title: "List memories", effect: reads, limits: scopes, description: "List the newest memories, a line each.",
	}, s.listScopes)
}

func (s *Server) listScopes(ctx context.Context, a *api, host string, in memoryListIn) (reply[listOut], error) {
	spaces, err := s.scope(ctx, a, host, cmp.Or(in.Scope, "all"))
	if err != nil {
		return reply[listOut]{}, err
	}
	out := listOut{Memories: []found{}}
	for _, space := range spaces {
		scoped := *a
		scoped.space = space
		page, err := s.list(ctx, &scoped, host, listIn{Limit: maxList})
		if err != nil {
			return reply[listOut]{}, err
		}
		out.Memories = append(out.Memories, page.value.Memories...)
		out.Total += page.value.Total
	}
	if len(out.Memories) == 0 {
		return reply[listOut]{out, "Nothing is remembered here yet."}, nil
	}
	return reply[listOut]{out, fenced("", out.Memories)}, nil
}

// scope says which spaces a scope is: user is the one that the server works in, project that of the project.
func (s *Server) scope(ctx context.Context, a *api, host, scope string) ([]string, error) {
	if scope == "user" || s.cfg.Cwd == "" || a.space != "" {
		return []string{a.space}, nil
	}
	started, err := s.start(ctx, a, host)
	if err != nil {
		return nil, err
	}
	if scope == "project" {
		return []string{started.GetSpace()}, nil
	}
	return []string{a.space, started.GetSpace()}, nil
}

// scoped is the daemon in the space of one scope.
func (s *Server) scoped(ctx context.Context, a *api, host, scope string) (*api, error) {
	spaces, err := s.scope(ctx, a, host, cmp.Or(scope, "user"))
	if err != nil {
		return nil, err
	}
	out := *a
	out.space = spaces[0]
	return &out, nil
}
