package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withToken sends the daemon's token with every request of an agent, and what else a test adds.
type withToken struct {
	h      *testDaemon
	change func(*http.Request)
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.h.token)
	if w.change != nil {
		w.change(r)
	}
	return w.h.client.Transport.RoundTrip(r)
}

// dialAgent begins a session of the official client at an address below that of the daemon.
func (h *testDaemon) dialAgent(t *testing.T, path string, change func(*http.Request)) (*mcp.ClientSession, error) {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test-host", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{
			Endpoint: h.url + path, HTTPClient: &http.Client{Transport: withToken{h, change}}, MaxRetries: -1,
		}, nil)
	if err == nil {
		t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

func (h *testDaemon) agent(t *testing.T, path string) *mcp.ClientSession {
	t.Helper()
	session, err := h.dialAgent(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// toolText calls a tool, which must succeed, and returns its text.
func toolText(t *testing.T, s *mcp.ClientSession, name string, in object) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		t.Fatalf("%s: %s", name, text)
	}
	return text
}

// TestMCP lets agents work over HTTP: what one saves another finds, in its space only, and each has its own session.
func TestMCP(t *testing.T) {
	h := startDaemon(t)
	one, other, work := h.agent(t, "/mcp"), h.agent(t, "/mcp"), h.agent(t, "/mcp?space=work")
	toolText(t, one, "memory_write", object{"content": "We deploy with make release"})
	if got := toolText(t, other, "memory_search", object{"query": "deploy release"}); !strings.Contains(got, "make release") {
		t.Errorf("another agent does not find it: %s", got)
	}
	if got := toolText(t, work, "memory_search", object{"query": "deploy release"}); strings.Contains(got, "make release") {
		t.Errorf("found in another space: %s", got)
	}
	context := func(s *mcp.ClientSession) string {
		res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "memory://context"})
		if err != nil {
			t.Fatal(err)
		}
		return res.Contents[0].Text
	}
	first := context(one)
	toolText(t, one, "memory_write", object{"content": "The staging port is 8465"})
	if got := context(one); got != first {
		t.Errorf("the context of a session changed:\n%s\n%s", first, got)
	}
	if got := context(other); got == first || !strings.Contains(got, "8465") {
		t.Errorf("another session has the context of the first: %s", got)
	}
	if strings.Contains(h.log.String(), "make release") {
		t.Error("the log has the text of a memory")
	}
}

// TestMCPToolSets begins sessions with the tools of other memories.
func TestMCPToolSets(t *testing.T) {
	h := startDaemon(t)
	h.addMemory(t, `{"content":"We deploy with make release"}`)
	for set, want := range map[string][]string{
		"search-fetch": {"fetch", "search"}, "remember": {"remember"},
		"memory-tools": {"MemoryDelete", "MemoryList", "MemorySave", "MemorySearch"},
	} {
		res, err := h.agent(t, "/mcp?compat="+set).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range res.Tools {
			names = append(names, tool.Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", set, diff)
		}
	}
	got := toolText(t, h.agent(t, "/mcp?compat=search-fetch"), "search", object{"query": "deploy release"})
	if !strings.Contains(got, "make release") {
		t.Errorf("search finds nothing: %s", got)
	}
	for _, path := range []string{"/mcp?compat=nope", "/mcp?token=x", "/mcp?space=a&space=b"} {
		if _, err := h.dialAgent(t, path, nil); err == nil {
			t.Errorf("%s was accepted", path)
		}
	}
}

// TestMCPAccess refuses what the rest of the interface refuses, before anything reaches the protocol.
func TestMCPAccess(t *testing.T) {
	h := startDaemon(t)
	for name, change := range map[string]func(*http.Request){
		"no token":                           func(r *http.Request) { r.Header.Del("Authorization") },
		"wrong token":                        func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("a", 52)) },
		"a name that was made to point here": func(r *http.Request) { r.Host = "evil.example" },
		"a page elsewhere":                   func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"a link of a page elsewhere": func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
		},
	} {
		if _, err := h.dialAgent(t, "/mcp", change); err == nil {
			t.Errorf("%s: a session was begun", name)
		}
	}
	// A session does not outlive the right to it: its id alone opens nothing.
	s := h.agent(t, "/mcp")
	withSession := func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", s.ID())
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	h.requestJSON(t, http.StatusOK, "POST", "/mcp", ping, withSession)
	for name, tt := range map[string]struct {
		change func(*http.Request)
		status int
		reason string
	}{
		"no token":       {func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized, "NO_TOKEN"},
		"foreign origin": {func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden, "FOREIGN_ORIGIN"},
		"foreign host":   {func(r *http.Request) { r.Host = "evil.example" }, http.StatusForbidden, "FOREIGN_HOST"},
	} {
		got := valueAt(h.requestJSON(t, tt.status, "POST", "/mcp", ping, withSession, tt.change), "error", "reason")
		if got != tt.reason {
			t.Errorf("%s: reason %v, want %s", name, got, tt.reason)
		}
	}
}

// TestMCPSessionEnds deletes a session: its id names nothing afterwards. Requests that are too large, or of no session,
// are refused.
func TestMCPSessionEnds(t *testing.T) {
	h := startDaemon(t)
	s := h.agent(t, "/mcp")
	id := s.ID()
	accept := func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", id)
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	large := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("a", 1<<20) + `"}}`
	if res := h.request(t, "POST", "/mcp", large, accept); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large request: %s", res.Status)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if res := h.request(t, "POST", "/mcp", ping, accept); res.StatusCode != http.StatusNotFound {
		t.Errorf("a session that has ended: %s", res.Status)
	}
	id = ""
	if res := h.request(t, "GET", "/mcp", "", accept); res.StatusCode != http.StatusBadRequest {
		t.Errorf("events of no session: %s", res.Status)
	}
	if res := h.request(t, "PUT", "/mcp", ping, accept); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %s", res.Status)
	}
}

// TestMCPStops stops the daemon while agents have their streams of events open: it must not wait for them.
func TestMCPStops(t *testing.T) {
	h := startDaemon(t)
	s := h.agent(t, "/mcp")
	toolText(t, s, "memory_list", object{})
	h.stop()
	_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "memory_list", Arguments: object{}})
	if err == nil {
		t.Error("a tool answers after the stop")
	}
}
