package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/client/mcpserver"
)

// TestSourceExamples sends the examples of the descriptions that memsidecar follows, with their names and arguments.
func TestSourceExamples(t *testing.T) {
	h := newTestDaemon(t)
	files := h.connectAgent(t, mcpserver.SetMemoryTools)
	files.call(t, "MemorySave", args{
		"name": "feedback_testing", "type": "feedback", "scope": "user",
		"description": "Integration tests must hit a real DB, not mocks",
		"content": "Don't mock the database in tests.\n**Why:** mocks hide query/schema bugs until prod.\n" +
			"**How to apply:** when writing tests that touch the DB layer, spin up the test DB instead of using unittest.mock.",
	})
	files.call(t, "MemorySave", args{"name": "freeze", "type": "project", "scope": "project", "content": "Merges are frozen"})
	text, out := files.call(t, "MemoryList", args{})
	want := []string{"[project/project] project_freeze.md (today)",
		"[feedback/user] feedback_testing.md (today): Integration tests must hit a real DB, not mocks"}
	for i, line := range want {
		if valueAt(out, "manifest", i) != line || !strings.Contains(text, "\n- "+line+"\n") {
			t.Errorf("line %d is %v, want %q; text:\n%s", i, valueAt(out, "manifest", i), line, text)
		}
	}
	if name := valueAt(out, "memories", 1, "name"); name != "feedback_testing" {
		t.Errorf("the line is of %v", name)
	}
	for scope, first := range map[string]any{"user": "feedback_testing", "project": nil, "all": "feedback_testing"} {
		_, out := files.call(t, "MemorySearch", args{"query": "integration real DB", "max_results": 5, "scope": scope})
		if got := valueAt(out, "memories", 0, "title"); got != first {
			t.Errorf("scope %s: found %v, want %v", scope, got, first)
		}
	}
	agent := h.connectAgent(t, mcpserver.SetDefault)
	agent.call(t, "memory_write", args{"content": "用户偏好东方航空，尤其是早班机", "category": "preferences", "write_to": "memory",
		"salience": 0.8})
	_, out = agent.call(t, "memory_search", args{"query": "东方航空 早班机", "top_k": 5, "use_decay": true, "category": "preferences"})
	if valueAt(out, "memories", 0, "content") != "用户偏好东方航空，尤其是早班机" || valueAt(out, "memories", 0, "salience") != 0.8 {
		t.Errorf("memory_search: %v", out)
	}
	_, out = agent.call(t, "save_memory", args{"history_entry": "2024-01-15 修复了登录 bug", "memory_update": "项目用 Python 3.12"})
	if valueAt(out, "history") == nil || valueAt(out, "memories", 0, "status") != "applied" {
		t.Errorf("save_memory: %v", out)
	}
}

// TestUnknownArgument: the refusal names the argument and those that the tool has.
func TestUnknownArgument(t *testing.T) {
	h := newTestDaemon(t)
	for _, tt := range []struct{ set, tool, want string }{
		{mcpserver.SetMemoryTools, "MemorySave", "content, description, name, scope, type"},
		{mcpserver.SetRemember, "remember", "action, content, memory_type, query, title"},
		{mcpserver.SetDefault, "save_memory", "history_entry, memory_update"},
	} {
		said := h.connectAgent(t, tt.set).callError(t, tt.tool, args{"name": "a", "content": "b", "action": "save",
			"history_entry": "c", "colour": "secret-value"})
		if !strings.Contains(said, `"colour"`) || !strings.Contains(said, tt.want) || strings.Contains(said, "secret-value") {
			t.Errorf("%s says %q, want the argument and %q", tt.tool, said, tt.want)
		}
	}
}
