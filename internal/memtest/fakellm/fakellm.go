// Package fakellm is a model server for tests: real HTTP, the protocols of both providers, streamed or whole, and
// every fault that such servers show. It records what it was asked, and counts the tokens of what it sent itself
// rather than of what a client believes.
package fakellm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Step is how one request is answered. The zero value replies with an empty text and usage.
type Step struct {
	// Text is what the model says. Call is what it gives to a tool instead.
	Text, Call string
	// Answer, if set, makes the text of what was asked.
	Answer func(Request) string
	// Thought is streamed as reasoning before that.
	Thought string
	// Finish is the reason for the end in OpenAI's words: stop (default), length, content_filter.
	Finish string
	// Input and Output are the tokens reported; both 0 means one for four bytes, of the request and of the reply.
	Input, Output int
	// NoUsage reports none.
	NoUsage bool

	// Status other than 0 and 200 is sent with Body. Body with status 200 is sent instead of a reply. Header is
	// added to both.
	Status int
	Header http.Header
	Body   string

	// Refuse answers 400 when the request has one of these: an output format (json_schema, json_object, tool) or a
	// parameter.
	Refuse []string
	// Whole replies with one JSON body even when a stream was asked for.
	Whole bool
	// Hang sends nothing until the client goes away. HangAfter sends so many bytes first, 0 none.
	Hang      bool
	HangAfter int
	// Pause passes before each chunk of a stream.
	Pause time.Duration
	// CutAfter breaks the connection after so many bytes of the body, 0 never. CutClean ends the body there as if
	// it were complete.
	CutAfter int
	CutClean bool
}

// Reply is a step with a text and exact usage.
func Reply(text string, input, output int) Step {
	return Step{Text: text, Input: input, Output: output}
}

// Request is what was asked.
type Request struct {
	Path     string
	Header   http.Header
	Format   string // json_schema, json_object, tool or plain
	Stream   bool
	System   string
	Messages []string // "role: text"
	Body     map[string]any
}

// Target is the number under which a question of the daemon shows a memory that begins with text; 0 when it does not.
func (q Request) Target(text string) int {
	for line := range strings.Lines(strings.Join(q.Messages, "")) {
		var shown struct {
			Target  int
			Content string
		}
		if json.Unmarshal([]byte(line), &shown) == nil && strings.HasPrefix(shown.Content, text) {
			return shown.Target
		}
	}
	return 0
}

// UseServer lets the programs that a test starts from now on ask the server at a base URL without /v1.
func UseServer(t *testing.T, url string) {
	t.Helper()
	for name, value := range map[string]string{"PROVIDER": "openai", "MODEL": "stub", "BASE_URL": url + "/v1"} {
		t.Setenv("MEMSIDECAR_LLM_"+name, value)
	}
}

// Stats is what the server has seen and reported.
type Stats struct {
	Requests      int
	Refused       int // answered with a status of 400 or more
	Input, Output int // tokens reported
	Reported      int // replies with usage
}

// Server plays its steps in order and repeats the last one. It is an http.Handler, safe for concurrent use.
type Server struct {
	// URL is the base URL of a server that Start made, without /v1.
	URL string

	mu       sync.Mutex
	steps    []Step
	stats    Stats
	requests []Request
}

// New makes a server that is not listening.
func New(steps ...Step) *Server { return &Server{steps: steps} }

// Start listens on this machine until the test ends.
func Start(t testing.TB, steps ...Step) *Server {
	t.Helper()
	s := New(steps...)
	h := httptest.NewServer(s)
	s.URL = h.URL
	t.Cleanup(func() {
		h.CloseClientConnections() // hanging steps wait for that
		h.Close()
	})
	return s
}

// Stats is a copy of the server's book.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Requests is a copy of what was asked, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP plays the next step.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	req := read(r, raw)
	s.mu.Lock()
	var step Step
	if n := len(s.steps); n > 0 {
		step = s.steps[min(s.stats.Requests, n-1)]
	}
	s.stats.Requests++
	s.requests = append(s.requests, req)
	s.mu.Unlock()

	for name, values := range step.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	refused := func(what string) bool { return req.Format == what || req.Body[what] != nil && what != "tool" }
	if i := slices.IndexFunc(step.Refuse, refused); i >= 0 {
		step.Status, step.Body = http.StatusBadRequest, fmt.Sprintf(
			`{"error":{"message":"'%s' is not supported","type":"invalid_request_error"}}`, step.Refuse[i])
	}
	out := &writer{w: w, r: r, step: step}
	defer out.recovered()
	if step.Hang && step.HangAfter == 0 {
		<-r.Context().Done()
		return
	}
	if step.Status >= 300 {
		s.record(func(b *Stats) { b.Refused++ })
		w.WriteHeader(step.Status)
	}
	if step.Status >= 300 || step.Body != "" {
		out.write(step.Body)
		return
	}
	if step.Answer != nil {
		step.Text = step.Answer(req)
	}
	if step.Input == 0 && step.Output == 0 {
		step.Input, step.Output = len(raw)/4, len(step.Text+step.Call+step.Thought)/4
	}
	chunks, usageAt := openAI(step, req)
	if strings.HasSuffix(r.URL.Path, "/messages") {
		chunks, usageAt = anthropic(step, req)
	}
	if req.Stream && !step.Whole {
		w.Header().Set("Content-Type", "text/event-stream")
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	for i, c := range chunks {
		if !pause(r.Context(), step.Pause) {
			return
		}
		// Before it is sent: after that the client may be done and look.
		if i == usageAt && !step.NoUsage && !out.cuts(c) {
			s.record(func(b *Stats) { b.Reported++; b.Input += step.Input; b.Output += step.Output })
		}
		out.write(c)
	}
}

// pause reports whether the client is still there after d.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// record changes the statistics.
func (s *Server) record(change func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.stats)
}

// writer counts what is sent, and stops where the step says so.
type writer struct {
	w    http.ResponseWriter
	r    *http.Request
	step Step
	sent int
}

// stop ends a response that was cut.
type stop struct{}

// limit is how many bytes are sent at most, 0 all.
func (w *writer) limit() int {
	if w.step.Hang {
		return w.step.HangAfter
	}
	return w.step.CutAfter
}

// cuts reports whether c would be cut off.
func (w *writer) cuts(s string) bool { return w.limit() > 0 && w.sent+len(s) > w.limit() }

// write sends c, as far as the step lets it.
func (w *writer) write(s string) {
	if w.cuts(s) {
		s = s[:max(w.limit()-w.sent, 0)]
		_, _ = io.WriteString(w.w, s)
		_ = http.NewResponseController(w.w).Flush()
		switch {
		case w.step.Hang:
			<-w.r.Context().Done()
		case !w.step.CutClean:
			panic(http.ErrAbortHandler) // breaks the connection
		}
		panic(stop{})
	}
	n, _ := io.WriteString(w.w, s)
	w.sent += n
	_ = http.NewResponseController(w.w).Flush()
}

// recovered ends a connection that a step cut.
func (w *writer) recovered() {
	if v := recover(); v != nil && v != (stop{}) {
		panic(v)
	}
}

// read takes apart a request of either protocol.
func read(r *http.Request, raw []byte) Request {
	req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Format: "plain"}
	_ = json.Unmarshal(raw, &req.Body)
	req.Stream, _ = req.Body["stream"].(bool)
	req.System, _ = req.Body["system"].(string)
	if f, ok := req.Body["response_format"].(map[string]any); ok {
		req.Format, _ = f["type"].(string)
	}
	if req.Body["output_config"] != nil {
		req.Format = "json_schema"
	}
	if req.Body["tool_choice"] != nil {
		req.Format = "tool"
	}
	messages, _ := req.Body["messages"].([]any)
	for _, m := range messages {
		m, _ := m.(map[string]any)
		if m["role"] == "system" {
			req.System, _ = m["content"].(string)
			continue
		}
		req.Messages = append(req.Messages, fmt.Sprint(m["role"], ": ", m["content"]))
	}
	return req
}

// Status is a step that refuses.
func Status(status int, body string) Step { return Step{Status: status, Body: body} }

// Busy is a step that asks to wait: 429 with Retry-After, in seconds.
func Busy(seconds int) Step {
	return Step{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {strconv.Itoa(seconds)}},
		Body: `{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}`}
}

// HTML is a step as of a captive portal.
func HTML() Step {
	return Step{
		Header: http.Header{"Content-Type": {"text/html"}},
		Body:   "<!doctype html><html><body>{\"welcome\": true}</body></html>",
	}
}
