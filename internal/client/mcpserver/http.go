package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds on the sessions of an HTTP server.
const (
	maxHTTPSessions  = 64
	httpSessionIdle  = 12 * time.Hour // since the last request, as the panel's sessions
	maxHTTPArguments = 1 << 20        // bytes of a request
)

// sessionHeader names the session of a request. The SDK's name for it is not exported.
const sessionHeader = "Mcp-Session-Id"

// HTTP serves the protocol as streamable HTTP: each session of an agent has a Server of its own, which ends when the
// agent deletes the session, 12 hours after its last request, or at Close. The parameters space and compat of the
// address at which a session begins are Config.Space and Config.Set. It checks no token and no origin: what it is
// mounted behind does. It is safe for concurrent use.
type HTTP struct {
	cfg     Config
	handler *mcp.StreamableHTTPHandler
	ended   sync.WaitGroup // one for each session

	mu       sync.Mutex
	sessions map[string]*httpSession // by id; guarded by mu
	opening  int                     // requests that may begin a session; guarded by mu
	closed   bool                    // guarded by mu
}

// httpSession is a session in the table of HTTP, whose lock guards its fields.
type httpSession struct {
	session *mcp.ServerSession
	server  *Server
	used    time.Time // begin or end of the newest request
	running int       // requests in progress, a stream of events too
}

// NewHTTP returns an HTTP whose sessions have this configuration, less its Space and Set. Close ends it.
func NewHTTP(cfg Config) *HTTP {
	h := &HTTP{cfg: cfg, sessions: map[string]*httpSession{}}
	h.handler = mcp.NewStreamableHTTPHandler(builtFor, &mcp.StreamableHTTPOptions{
		// An answer is one JSON object: no tool sends anything before it.
		JSONResponse:        true,
		SessionTimeout:      httpSessionIdle,
		MaxRequestBodyBytes: maxHTTPArguments,
	})
	return h
}

// builtKey is the key of the server for a session that a request may begin.
type builtKey struct{}

// builtFor returns the server that beginSession built. The SDK asks more than once for a request, and for every one;
// those of a session have none and need none.
func builtFor(r *http.Request) *mcp.Server {
	server, _ := r.Context().Value(builtKey{}).(*mcp.Server)
	return server
}

// ServeHTTP serves one request. Errors of the transport are plain text, those of the protocol JSON.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if id := r.Header.Get(sessionHeader); id != "" {
		defer h.use(id)()
		h.handler.ServeHTTP(w, r)
		return
	}
	if r.Method != http.MethodPost {
		h.handler.ServeHTTP(w, r) // which says what is missing
		return
	}
	h.beginSession(w, r)
}

// beginSession serves a request without a session: the handshake of a new one, or what the SDK refuses.
func (h *HTTP) beginSession(w http.ResponseWriter, r *http.Request) {
	cfg, err := h.configOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s, err := New(cfg)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	idle, ok := h.reserve()
	if !ok {
		http.Error(w, fmt.Sprintf("all %d sessions are in use: end one", maxHTTPSessions), http.StatusServiceUnavailable)
		return
	}
	if idle != nil {
		_ = idle.session.Close() // its client learns with its next request that it must begin again
	}
	server := s.build(nil)
	defer h.keep(server, s)
	h.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), builtKey{}, server)))
}

// keep takes the session that a request has begun into the table; after a failed handshake there is none.
func (h *HTTP) keep(server *mcp.Server, s *Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opening--
	for session := range server.Sessions() {
		if h.closed {
			go func() { _ = session.Close() }() // the process ends; nothing waits for it
			return
		}
		h.sessions[session.ID()] = &httpSession{session: session, server: s, used: h.cfg.Now()}
		h.ended.Go(func() { h.await(session, s) })
		return
	}
}

// configOf returns the configuration of the session that a request begins. Error: for an unknown or repeated parameter.
func (h *HTTP) configOf(r *http.Request) (Config, error) {
	cfg := h.cfg
	for name, values := range r.URL.Query() {
		into := map[string]*string{"space": &cfg.Space, "compat": &cfg.Set}[name]
		if into == nil || len(values) != 1 {
			return cfg, fmt.Errorf("the address takes the parameters space and compat, once each; it has %q", name)
		}
		*into = values[0]
	}
	return cfg, nil
}

// reserve makes room for a session. When the table is full, the session that was unused longest is taken out and
// returned, so that programs which died without ending theirs lock nobody out. ok is false when all are in use.
func (h *HTTP) reserve() (idle *httpSession, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, false
	}
	if len(h.sessions)+h.opening >= maxHTTPSessions {
		for _, s := range h.sessions {
			if s.running == 0 && (idle == nil || s.used.Before(idle.used)) {
				idle = s
			}
		}
		if idle == nil {
			return nil, false
		}
		delete(h.sessions, idle.session.ID())
	}
	h.opening++
	return idle, true
}

// use notes that a request of a session begins; what it returns notes that it ends.
func (h *HTTP) use(id string) (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if s == nil {
		return func() {} // the SDK answers that there is no such session
	}
	s.running, s.used = s.running+1, h.cfg.Now()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		s.running, s.used = s.running-1, h.cfg.Now()
	}
}

// await waits for the end of a session and lets go of what belongs to it.
func (h *HTTP) await(session *mcp.ServerSession, s *Server) {
	_ = session.Wait() // how a client ends its session is its own business
	if err := s.close(); err != nil {
		h.cfg.Logger.Warn("connection of an MCP session not closed", "err", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, session.ID())
}

// Close ends all sessions and returns when they have ended. Calls in progress are cut off, later requests refused.
func (h *HTTP) Close() {
	h.mu.Lock()
	h.closed = true
	open := slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	for _, s := range open {
		_ = s.server.close() // first, because the end of a session waits for its calls
		_ = s.session.Close()
	}
	h.ended.Wait()
}
