package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memsidecar/memsidecar/internal/client/mcpserver"
)

// TestServerMemory calls every tool of the reference memory server with what it is called with, and compares the
// structured results with what that server answers. The texts are the same as JSON, without the object around it
// where something is created.
func TestServerMemory(t *testing.T) {
	h := newTestDaemon(t)
	a := h.connectAgent(t, mcpserver.SetServerMemory)
	alice := `{"name":"Alice","entityType":"person","observations":["likes green tea","sits in Oslo"]}`
	acme := `{"name":"Acme","entityType":"company","observations":[]}`
	works := `{"from":"Alice","to":"Acme","relationType":"works at"}`
	for _, tt := range []struct{ name, tool, in, want, text string }{
		{"create", "create_entities", `{"entities":[` + alice + `,` + acme + `]}`, `{"entities":[` + alice + `,` +
			acme + `]}`, `[` + alice + `,` + acme + `]`},
		{"create what is there", "create_entities",
			`{"entities":[{"name":"Alice","entityType":"robot","observations":[]}]}`, `{"entities":[]}`, `[]`},
		{"further members are let pass", "create_entities",
			`{"entities":[{"type":"entity","name":"Bo","entityType":"dog","observations":[]}]}`,
			`{"entities":[{"name":"Bo","entityType":"dog","observations":[]}]}`, ""},
		{"relate", "create_relations", `{"relations":[` + works + `,` + works + `]}`, `{"relations":[` + works + `]}`,
			`[` + works + `]`},
		{"observe", "add_observations", `{"observations":[{"entityName":"Acme","contents":["makes anvils","makes anvils"]},{"entityName":"Alice","contents":["likes green tea"]}]}`,
			`{"results":[{"entityName":"Acme","addedObservations":["makes anvils"]},{"entityName":"Alice",` +
				`"addedObservations":[]}]}`,
			`[{"entityName":"Acme","addedObservations":["makes anvils"]},{"entityName":"Alice","addedObservations":[]}]`},
		{"search", "search_nodes", `{"query":"ANVIL"}`,
			`{"entities":[{"name":"Acme","entityType":"company","observations":["makes anvils"]}],"relations":[` +
				works + `]}`, ""},
		{"search by words", "search_nodes", `{"query":"who likes tea, is it green"}`, `{"entities":[` + alice +
			`],"relations":[` + works + `]}`, ""},
		{"search for nothing there", "search_nodes", `{"query":"submarine"}`, `{"entities":[],"relations":[]}`, ""},
		{"open", "open_nodes", `{"names":["Alice","nobody"]}`, `{"entities":[` + alice + `],"relations":[` + works +
			`]}`, ""},
		{"open none", "open_nodes", `{"names":[]}`, `{"entities":[],"relations":[]}`, ""},
		{"delete an observation", "delete_observations",
			`{"deletions":[{"entityName":"Alice","observations":["sits in Oslo"]}]}`,
			`{"success":true,"message":"Deleted 1 of 1 observations"}`, ""},
		{"delete a relation", "delete_relations", `{"relations":[` + works + `]}`,
			`{"success":true,"message":"Deleted 1 of 1 relations"}`, ""},
		{"delete entities", "delete_entities", `{"entityNames":["Acme","Bo","nobody"]}`,
			`{"success":true,"message":"Deleted 2 of 3 entities. Not known: nobody"}`, ""},
		{"read", "read_graph", `{}`, `{"entities":[{"name":"Alice","entityType":"person","observations":["likes green tea"]}],"relations":[]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var in args
			if err := json.Unmarshal([]byte(tt.in), &in); err != nil {
				t.Fatal(err)
			}
			text, out := a.call(t, tt.tool, in)
			if diff := cmp.Diff(decodeJSON(t, tt.want), any(out)); diff != "" {
				t.Errorf("structured result (-want +got):\n%s", diff)
			}
			if tt.text != "" {
				if diff := cmp.Diff(decodeJSON(t, tt.text), decodeJSON(t, text)); diff != "" {
					t.Errorf("text (-want +got):\n%s", diff)
				}
			}
		})
	}
	said := a.callError(t, "add_observations",
		args{"observations": []args{{"entityName": "nobody", "contents": []string{"x"}}}})
	if !strings.Contains(said, "create_entities") {
		t.Errorf("observing nobody says %q", said)
	}
	if diff := cmp.Diff(decodeJSON(t, `{"entities":[{"name":"Alice","entityType":"person","observations":["likes green tea"]}],"relations":[]}`),
		decodeJSON(t, a.readResource(t, "memory://knowledge-graph"))); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
	// The graph is made of memories, which the other tools find.
	_, out := h.connectAgent(t, mcpserver.SetDefault).call(t, "memory_search",
		args{"query": "what does Alice like to drink, tea?"})
	if valueAt(out, "memories", 0, "content") != "Alice: likes green tea" {
		t.Errorf("search: %v", out)
	}
}

func decodeJSON(t *testing.T, s string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
	return v
}

func TestRemember(t *testing.T) {
	a := newTestDaemon(t).connectAgent(t, mcpserver.SetRemember)
	_, out := a.call(
		t,
		"remember",
		args{
			"action":      "save",
			"title":       "Commit style",
			"content":     "Small commits, imperative subject",
			"memory_type": "feedback",
		},
	)
	if valueAt(out, "status") != "ok" || valueAt(out, "change", "what") != "add" {
		t.Errorf("save: %v", out)
	}
	_, out = a.call(t, "remember", args{"action": "recall", "query": "commit style"})
	if valueAt(out, "memories", 0, "title") != "Commit style" ||
		valueAt(out, "memories", 0, "category") != "feedback" {
		t.Errorf("recall: %v", out)
	}
	a.call(t, "remember", args{"action": "forget", "title": "Commit style"})
	for _, tt := range []struct {
		in   args
		want string
	}{
		{args{"action": "forget", "title": "Commit style"}, "exactly"},
		{args{"action": "forget"}, "exact title"},
		{args{"action": "save", "title": "x"}, "content"},
		{args{"action": "recall"}, "query"},
		{args{"action": "dance"}, "action"},
	} {
		if said := a.callError(t, "remember", tt.in); !strings.Contains(said, tt.want) {
			t.Errorf("%v says %q, which lacks %q", tt.in, said, tt.want)
		}
	}
}

// TestMemoryTools keeps the scopes apart: user is the default space, project that of the project.
func TestMemoryTools(t *testing.T) {
	h := newTestDaemon(t)
	a := h.connectAgent(t, mcpserver.SetMemoryTools)
	a.call(t, "MemorySave", args{"name": "editor", "content": "The user edits with Helix", "type": "user"})
	a.call(
		t,
		"MemorySave",
		args{"name": "build", "content": "This project builds with Bazel", "type": "project", "scope": "project"},
	)
	for _, tt := range []struct {
		scope string
		want  float64
	}{{"user", 1}, {"project", 1}, {"all", 2}, {"", 2}} {
		in := args{}
		if tt.scope != "" {
			in["scope"] = tt.scope
		}
		if _, out := a.call(t, "MemoryList", in); valueAt(out, "total") != tt.want {
			t.Errorf("scope %q has %v", tt.scope, out)
		}
	}
	_, out := a.call(t, "MemorySearch", args{"query": "what does it build with", "max_results": 3})
	if valueAt(out, "memories", 0, "title") != "build" {
		t.Errorf("search: %v", out)
	}
	_, out = a.call(t, "MemorySearch", args{"query": "what does it build with Bazel", "scope": "user"})
	if valueAt(out, "memories", 0) != nil {
		t.Errorf("the project leaked: %v", out)
	}
	if said := a.callError(t, "MemoryDelete", args{"name": "build"}); !strings.Contains(said, "exactly") {
		t.Errorf("deleting in the other scope says %q", said)
	}
	a.call(t, "MemoryDelete", args{"name": "build", "scope": "project"})
	if _, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "memory://context"}); err != nil {
		t.Error(err)
	}
}
