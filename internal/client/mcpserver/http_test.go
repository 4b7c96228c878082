package mcpserver_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"

	"github.com/memsidecar/memsidecar/internal/client/mcpserver"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// httpAgent begins a session over HTTP. With silent, its client keeps no stream of events open.
func httpAgent(t *testing.T, url string, silent bool) (*mcp.ClientSession, error) {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test-host", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: silent, MaxRetries: -1}, nil)
	if err == nil {
		t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

// newHTTP serves HTTP for a daemon. now is advanced by a second for each question, so that no two sessions were used
// at the same time.
func (h *testDaemon) newHTTP(t *testing.T) (*mcpserver.HTTP, string) {
	t.Helper()
	var seconds atomic.Int64
	served := mcpserver.NewHTTP(mcpserver.Config{
		Connect: func(context.Context) (*grpc.ClientConn, error) { return unixsock.Dial(h.socket) },
		Logger:  slog.New(slog.DiscardHandler), Version: "test", Timeout: 10 * time.Second,
		Now: func() time.Time { return time.Unix(seconds.Add(1), 0) },
	})
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	t.Cleanup(served.Close)
	return served, server.URL
}

// alive reports whether the server still knows a session.
func alive(t *testing.T, s *mcp.ClientSession) bool {
	t.Helper()
	_, err := s.ListTools(t.Context(), nil)
	return err == nil
}

// TestHTTPSessionsAreBounded opens more sessions than there is room for: those that were unused longest end, those
// with an open stream never.
func TestHTTPSessionsAreBounded(t *testing.T) {
	_, url := newTestDaemon(t).newHTTP(t)
	const most = 64
	listening, err := httpAgent(t, url, false)
	if err != nil {
		t.Fatal(err)
	}
	var silent []*mcp.ClientSession
	for range most - 1 {
		s, err := httpAgent(t, url, true)
		if err != nil {
			t.Fatal(err)
		}
		silent = append(silent, s)
	}
	if !alive(t, silent[0]) { // it has been used last now
		t.Fatal("a session ended while there was room")
	}
	if _, err := httpAgent(t, url, true); err != nil {
		t.Fatalf("the table is full of idle sessions: %v", err)
	}
	if alive(t, silent[1]) {
		t.Error("the session that was unused longest goes on")
	}
	if !alive(t, silent[0]) || !alive(t, listening) {
		t.Error("a session in use ended")
	}
}

// listen opens the stream of events of a session, and returns when the server has it.
func listen(t *testing.T, url, session string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", session)
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if _, err := res.Body.Read(make([]byte, 1)); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", res.Status, err)
	}
}

// TestHTTPSessionsInUse fills the table with sessions that listen: none is ended for a further one.
func TestHTTPSessionsInUse(t *testing.T) {
	_, url := newTestDaemon(t).newHTTP(t)
	var all []*mcp.ClientSession
	for range 64 {
		s, err := httpAgent(t, url, true)
		if err != nil {
			t.Fatal(err)
		}
		listen(t, url, s.ID())
		all = append(all, s)
	}
	if _, err := httpAgent(t, url, true); err == nil {
		t.Fatal("a session was begun beyond the bound")
	}
	if !alive(t, all[0]) {
		t.Error("a session in use ended")
	}
	if err := all[0].Close(); err != nil {
		t.Fatal(err)
	}
	for { // the place is free a moment after the answer
		if _, err := httpAgent(t, url, true); err == nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("no place after the end of a session")
		}
	}
}

// TestHTTPRefusesBeginnings sends what begins no session: nothing is kept of it.
func TestHTTPRefusesBeginnings(t *testing.T) {
	_, url := newTestDaemon(t).newHTTP(t)
	for range 100 { // more than there is room for
		res, err := http.Post(url, "application/json", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Fatalf("an empty beginning: %s", res.Status)
		}
	}
	if _, err := httpAgent(t, url, true); err != nil {
		t.Errorf("after refused ones: %v", err)
	}
}

// TestHTTPClose ends everything: sessions, and what comes later.
func TestHTTPClose(t *testing.T) {
	h, url := newTestDaemon(t).newHTTP(t)
	s, err := httpAgent(t, url, false)
	if err != nil {
		t.Fatal(err)
	}
	agent := &testAgent{s}
	agent.call(t, "memory_write", args{"content": "We deploy with make release"})
	h.Close()
	if alive(t, s) {
		t.Error("a session goes on")
	}
	if _, err := httpAgent(t, url, true); err == nil {
		t.Error("a session was begun after the end")
	}
}
