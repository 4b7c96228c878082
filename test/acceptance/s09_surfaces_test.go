package acceptance_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memsidecar/memsidecar/internal/memtest/process"
)

// browser sends requests to the daemon's HTTP address with its token.
type browser struct {
	t          *testing.T
	url, token string
}

// openBrowser reads where the daemon serves HTTP, as `memsidecar ui --token` prints it.
func openBrowser(t *testing.T, p process.Place) browser {
	t.Helper()
	m := regexp.MustCompile(`(?s)HTTP:\s+(\S+).*Token:\s+(\S+)`).FindStringSubmatch(p.Succeeds(t, "ui", "--token"))
	if m == nil {
		t.Fatal("ui --token does not name the address")
	}
	token, err := os.ReadFile(m[2])
	if err != nil {
		t.Fatal(err)
	}
	return browser{t, m[1], strings.TrimSpace(string(token))}
}

// send sends a request and decodes the answer, which must have the status.
func (b browser) send(method, path string, body any, status int) (out map[string]any) {
	b.t.Helper()
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			b.t.Fatal(err)
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, in)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if b.token != "" {
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		b.t.Fatalf("%s %s: %s, want %d: %s %v", method, path, res.Status, status, data, err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		b.t.Fatalf("%s %s: %v: %s", method, path, err, data)
	}
	return out
}

// texts are the contents of the memories in an answer.
func texts(answer map[string]any) (out []string) {
	list, _ := answer["memories"].([]any)
	for _, m := range list {
		out = append(out, m.(map[string]any)["content"].(string))
	}
	return out
}

// agent is a program that speaks MCP with the built program, by a client that is not ours.
type agent struct {
	*mcp.ClientSession
	t *testing.T
}

func newAgent(t *testing.T, p process.Place, set ...string) agent {
	t.Helper()
	cmd := p.Command(append([]string{"mcp"}, set...)...)
	cmd.Stderr = os.Stderr
	cmd.Dir = p.Home()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "reader", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return agent{session, t}
}

// call calls a tool and returns what the model would read.
func (a agent) call(tool string, args map[string]any) string {
	a.t.Helper()
	res, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err == nil {
		err = res.GetError()
	}
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	var text strings.Builder
	for _, c := range res.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	return text.String()
}

// Scenario 9: one memory, every surface. What is written at one is seen at all others.
func TestSurfaces(t *testing.T) {
	p := process.New(t, program)
	d := p.Serve(t, "--set", "http_listen=127.0.0.1:0")
	web := openBrowser(t, p)

	p.Succeeds(t, "add", "The ferry office opens at seven", "--category", "facts", "--salience", "0.9")
	web.send("POST", "/api/memory/entries", map[string]any{"content": "用户偏好东方航空，尤其是早班机",
		"category": "preferences", "salience": 0.85}, http.StatusCreated)
	reader := newAgent(t, p)
	reader.call("memory_write", map[string]any{"content": "fetch_url 工具对动态渲染网页无效", "category": "procedural",
		"write_to": "memory", "salience": 0.8})

	shows(t, "a save to the log", reader.call("memory_write", map[string]any{"content": "Looked at the timetable",
		"write_to": "daily"}), "in the log of "+day(0))

	// The command line, HTTP and MCP list and find all three.
	for _, part := range []string{"ferry office", "东方航空", "fetch_url"} {
		if len(containing(list(t, p), part)) != 1 {
			t.Errorf("the command line does not list %q", part)
		}
		shows(t, "HTTP", strings.Join(texts(web.send("GET", "/api/memory/entries", nil, http.StatusOK)), "\n"), part)
		shows(t, "MCP", reader.call("memory_search", map[string]any{"query": part, "top_k": 5, "use_decay": true}), part)
	}

	// The paths of the published HTTP interface.
	found := web.send("POST", "/api/memory/search", map[string]any{"query": "when does the ferry office open?", "top_k": 5,
		"use_decay": true, "category": "facts"}, http.StatusOK)
	if results, _ := found["results"].([]any); len(results) != 1 || results[0].(map[string]any)["score"].(float64) <= 0 {
		t.Errorf("search: %v", found)
	}
	procedural := texts(web.send("GET", "/api/memory/procedural", nil, http.StatusOK))
	if len(procedural) != 1 || !strings.Contains(procedural[0], "fetch_url") {
		t.Errorf("procedural: %v", procedural)
	}
	web.send("PUT", "/api/memory/rolling-summary", map[string]any{"summary": "用户是一名 Python 开发者"}, http.StatusOK)
	if got := web.send("GET", "/api/memory/rolling-summary", nil, http.StatusOK)["summary"]; got != "用户是一名 Python 开发者" {
		t.Errorf("rolling summary: %v", got)
	}
	web.send("POST", "/api/memory/consolidate", map[string]any{"content": "The ferry office opens at eight",
		"category": "facts"}, http.StatusOK)
	if n := len(containing(list(t, p), "opens at eight")); n != 1 {
		t.Errorf("consolidated into %d memories, want one", n)
	}
	web.send("POST", "/api/memory/archive", map[string]any{"dry_run": true}, http.StatusOK)
	browser{t, web.url, ""}.send("GET", "/api/memory/entries", nil, http.StatusUnauthorized)

	// What the panel shows of a memory: category, importance, uses.
	for _, m := range web.send("GET", "/api/memory/entries?order=salience", nil, http.StatusOK)["memories"].([]any)[:1] {
		m := m.(map[string]any)
		if m["salience"].(float64) < 0.8 || m["category"] == "" || m["access_count"] == nil || m["content_at"] == nil {
			t.Errorf("the panel gets %v", m)
		}
	}
	if res, err := http.Get(web.url + "/"); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("the panel's page: %v %v", res, err)
	} else {
		_ = res.Body.Close()
	}

	// The other tools of the descriptions, each in its set.
	files := newAgent(t, p, "--compat", "memory-tools")
	files.call("MemorySave", map[string]any{"name": "feedback_testing", "type": "feedback", "scope": "user",
		"description": "Integration tests must hit a real DB, not mocks", "content": "Don't mock the database in tests."})
	shows(t, "MemoryList", files.call("MemoryList", map[string]any{"scope": "user"}),
		"[feedback/user] feedback_testing.md (today): Integration tests must hit a real DB, not mocks")
	shows(t, "MemorySearch", files.call("MemorySearch", map[string]any{"query": "mock database tests", "max_results": 5,
		"scope": "all"}), "Don't mock the database")
	notes := newAgent(t, p, "--compat", "remember")
	notes.call("remember", map[string]any{"action": "save", "title": "berth", "content": "Line A leaves from berth 4",
		"memory_type": "project"})
	shows(t, "remember", notes.call("remember", map[string]any{"action": "recall", "query": "berth of line A"}), "berth 4")
	notes.call("remember", map[string]any{"action": "forget", "title": "berth"})
	if len(containing(list(t, p), "berth 4")) != 0 {
		t.Error("what was forgotten by its title is still there")
	}
	reader.call("save_memory", map[string]any{"history_entry": "2024-01-15 修复了登录 bug", "memory_update": "项目用 Python 3.12"})

	// Views are files that people read and edit.
	views := filepath.Join(p.Home(), "notes")
	p.Succeeds(t, "view", views, "--format", "nanobot")
	state, history := filepath.Join(views, "MEMORY.md"), filepath.Join(views, "HISTORY.md")
	shows(t, "MEMORY.md", contents(t, state), "项目用 Python 3.12", "opens at eight")
	shows(t, "HISTORY.md", contents(t, history), "修复了登录 bug")
	edited := strings.Replace(contents(t, state), "opens at eight", "opens at nine", 1)
	if err := os.WriteFile(state, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Succeeds(t, "view", views)
	if len(containing(list(t, p), "opens at nine")) != 1 {
		t.Error("what was edited in the view is not known")
	}
	folder := filepath.Join(p.Home(), "folder")
	p.Succeeds(t, "view", folder, "--format", "claude")
	shows(t, "the index", contents(t, filepath.Join(folder, "MEMORY.md")),
		"(feedback_testing.md) — Integration tests must hit a real DB, not mocks")
	d.Stop(t)
}

// contents is a file's text.
func contents(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSettings: the ten published settings, by their names and with their defaults.
func TestSettings(t *testing.T) {
	p := process.New(t, program)
	got := process.Ask[map[string]struct{ Value, Default, Origin any }](t, p, "config")
	for name, want := range map[string]string{
		"MEMORY_SESSION_REFLECT_ENABLED": "true", "MEMORY_CONSOLIDATION_ENABLED": "true", "MEMORY_ARCHIVE_DAYS": "30",
		"MEMORY_DELETE_DAYS": "60", "MEMORY_DECAY_LAMBDA": "0.05", "MEMORY_IMPLICIT_RECALL_ENABLED": "true",
		"MEMORY_IMPLICIT_RECALL_TOP_K": "3", "MEMORY_DAILY_LOG_DAYS": "2", "MEMORY_MAX_PROMPT_TOKENS": "4000",
		"MEMORY_INDEX_ENABLED": "true",
	} {
		s, ok := got[strings.ToLower(name)]
		value, _ := json.Marshal(s.Default)
		if !ok || strings.Trim(string(value), `"`) != want {
			t.Errorf("%s has the default %s, want %s", name, value, want)
		}
	}
	t.Setenv("MEMORY_ARCHIVE_DAYS", "12")
	set := process.Ask[map[string]struct{ Value, Origin any }](t, p, "config")["memory_archive_days"]
	value, _ := json.Marshal(set.Value)
	origin, _ := json.Marshal(set.Origin)
	if strings.Trim(string(value), `"`) != "12" || !strings.Contains(string(origin), "MEMORY_ARCHIVE_DAYS") {
		t.Errorf("from the environment: %s of %s", value, origin)
	}
}
