package mcpserver

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// The tools of this file have the names and arguments that agents know from memories that are files, one per title.

// rememberIn is the input of remember.
type rememberIn struct {
	Action     string `json:"action" jsonschema:"save, recall or forget"`
	Title      string `json:"title,omitempty" jsonschema:"for save and forget: the exact title"`
	Content    string `json:"content,omitempty" jsonschema:"for save: what to remember"`
	MemoryType string `json:"memory_type,omitempty" jsonschema:"for save: user, feedback, project or reference"`
	Query      string `json:"query,omitempty" jsonschema:"for recall: what to look for"`
}

// rememberOut is the output of remember.
type rememberOut struct {
	Status   string       `json:"status" jsonschema:"ok"`
	Action   string       `json:"action"`
	Title    string       `json:"title,omitempty"`
	Change   *titleChange `json:"change,omitempty"`
	Memories []memoryItem `json:"memories,omitempty"`
}

// titleChange is the effect of a save or forget.
type titleChange struct {
	Operation string `json:"operation" jsonschema:"empty when nothing changed"`
	What      string `json:"what" jsonschema:"add, update, noop or forget"`
}

// addRememberTool serves the set SetRemember.
func (s *Server) addRememberTool(server *mcp.Server) {
	addTool(s, server, toolSpec{
		name: "remember", title: "Remember", effect: destructive,
		description: "Long-term memory across sessions. save: store a text under a title and replace the text it had. " +
			"recall: find at most five memories for a query. forget: remove the memory with exactly this title. " +
			saveGuidance,
		limits: func(p map[string]*jsonschema.Schema) {
			allowedValues(p["action"], "save", "recall", "forget")
			allowedValues(p["memory_type"], "user", "feedback", "project", "reference")
			lengthRange(p["title"], 0, memory.MaxTitle)
			lengthRange(p["content"], 0, memory.MaxContent)
		},
	}, s.remember)
}

// remember runs one action of the tool remember. The schema cannot say which arguments an action needs, so they are
// checked here.
func (s *Server) remember(ctx context.Context, a *api, _ string, in rememberIn) (toolReply[rememberOut], error) {
	out := rememberOut{Status: "ok", Action: in.Action, Title: in.Title}
	switch {
	case in.Action == "save" && (in.Title == "" || in.Content == ""):
		return toolReply[rememberOut]{}, guidance("save needs a title and a content.")
	case in.Action == "recall" && in.Query == "":
		return toolReply[rememberOut]{}, guidance("recall needs a query.")
	case in.Action == "forget" && in.Title == "":
		return toolReply[rememberOut]{}, guidance("forget needs the exact title; recall finds it.")
	}
	switch in.Action {
	case "save":
		w, err := s.writeTitled(ctx, a, writeIn{Content: in.Content, Category: in.MemoryType, Title: in.Title})
		out.Change = &titleChange{w.value.Operation, w.value.Decision}
		return toolReply[rememberOut]{out, w.text}, err
	case "forget":
		result, err := forgetMemories(ctx, a, readIn{Title: in.Title})
		out.Change = &titleChange{result.GetOperationId(), "forget"}
		return toolReply[rememberOut]{
			out, fmt.Sprintf("Forgot %q%s.", in.Title, operationNote(result.GetOperationId())),
		}, err
	default:
		hits, err := s.searchMemories(ctx, a, []string{a.space}, searchIn{Query: in.Query})
		out.Memories = hits.value.Memories
		return toolReply[rememberOut]{out, hits.text}, err
	}
}

// memorySearchIn is the input of MemorySearch.
type memorySearchIn struct {
	Query      string `json:"query" jsonschema:"what to look for"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"most results, 1 to 20; default 5"`
	Scope      string `json:"scope,omitempty" jsonschema:"user, project or all; default all"`
}

// memorySaveIn is the input of MemorySave.
type memorySaveIn struct {
	Name    string `json:"name" jsonschema:"short name; a memory with this name is replaced"`
	Content string `json:"content" jsonschema:"what to remember"`
	Type    string `json:"type,omitempty" jsonschema:"user, feedback, project or reference"`
	Scope   string `json:"scope,omitempty" jsonschema:"user for all projects, project for this one; default user"`

	Description string `json:"description,omitempty" jsonschema:"one specific line, by which relevance is decided"`
}

// memoryDeleteIn is the input of MemoryDelete.
type memoryDeleteIn struct {
	Name  string `json:"name" jsonschema:"exact name"`
	Scope string `json:"scope,omitempty" jsonschema:"user or project; default user"`
}

// memoryListIn is the input of MemoryList.
type memoryListIn struct {
	Scope string `json:"scope,omitempty" jsonschema:"user, project or all; default all"`
}

// addMemoryTools serves the set SetMemoryTools.
func (s *Server) addMemoryTools(server *mcp.Server) {
	scopes := func(p map[string]*jsonschema.Schema) { allowedValues(p["scope"], "user", "project", "all") }
	one := func(p map[string]*jsonschema.Schema) {
		allowedValues(p["scope"], "user", "project")
		lengthRange(p["name"], 1, memory.MaxTitle)
	}
	addTool(s, server, toolSpec{
		name: "MemorySearch", title: "Search memory", effect: readOnly,
		limits: func(p map[string]*jsonschema.Schema) {
			scopes(p)
			countRange(p["max_results"], maxTopK)
		},
		description: "Search long-term memories. Returns the relevant ones, with a warning for old ones, or nothing.",
	}, func(ctx context.Context, a *api, host string, in memorySearchIn) (toolReply[searchOut], error) {
		spaces, err := s.scopeSpaces(ctx, a, host, cmp.Or(in.Scope, "all"))
		if err != nil {
			return toolReply[searchOut]{}, err
		}
		return s.searchMemories(ctx, a, spaces, searchIn{Query: in.Query, TopK: in.MaxResults, caveats: true})
	})
	addTool(s, server, toolSpec{
		name: "MemorySave", title: "Save memory", effect: upsert,
		description: "Save a memory under a name and replace the one that had this name. " + saveGuidance,
		limits: func(p map[string]*jsonschema.Schema) {
			one(p)
			allowedValues(p["type"], "user", "feedback", "project", "reference")
			lengthRange(p["content"], 1, memory.MaxContent)
			lengthRange(p["description"], 0, memory.MaxDescription)
		},
	}, func(ctx context.Context, a *api, host string, in memorySaveIn) (toolReply[writeOut], error) {
		scoped, err := s.inScope(ctx, a, host, in.Scope)
		if err != nil {
			return toolReply[writeOut]{}, err
		}
		return s.writeTitled(ctx, scoped, writeIn{
			Title: in.Name, Content: in.Content, Category: in.Type, description: in.Description,
		})
	})
	addTool(s, server, toolSpec{
		name: "MemoryDelete", title: "Delete memory", effect: destructive, limits: one,
		description: "Forget the memory with exactly this name. It can be restored, and is not learned again.",
	}, func(ctx context.Context, a *api, host string, in memoryDeleteIn) (toolReply[deleteOut], error) {
		scoped, err := s.inScope(ctx, a, host, in.Scope)
		if err != nil {
			return toolReply[deleteOut]{}, err
		}
		return s.delete(ctx, scoped, host, readIn{Title: in.Name})
	})
	addTool(s, server, toolSpec{
		name: "MemoryList", title: "List memories", effect: readOnly, limits: scopes,
		description: "List memories, newest first, one line each: [type/scope] file name (age): description.",
	}, s.listScopes)
}

// scopeSpaces returns the spaces of a scope: for user the server's space, for project the space of the project in
// Config.Cwd, for all both. Without a Cwd, or with a space in the configuration, there is only the server's space.
func (s *Server) scopeSpaces(ctx context.Context, a *api, host, scope string) ([]string, error) {
	if scope == "user" || s.cfg.Cwd == "" || a.space != "" {
		return []string{a.space}, nil
	}
	started, err := s.startSession(ctx, a, host)
	if err != nil {
		return nil, err
	}
	if scope == "project" {
		return []string{started.GetSpace()}, nil
	}
	return []string{a.space, started.GetSpace()}, nil
}

// inScope returns a copy of a with the space of a scope, user by default. Tools that write accept only scopes with
// one space.
func (s *Server) inScope(ctx context.Context, a *api, host, scope string) (*api, error) {
	spaces, err := s.scopeSpaces(ctx, a, host, cmp.Or(scope, "user"))
	if err != nil {
		return nil, err
	}
	out := *a
	out.space = spaces[0]
	return &out, nil
}
