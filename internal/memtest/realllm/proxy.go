package realllm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Exchange is one request that reached the proxy, with its reply.
type Exchange struct {
	Path     string
	Format   string // what the reply is held to: json_schema, json_object, tool or plain
	Request  []byte
	Status   int  // 0 while there is none
	Refused  bool // by the proxy: the server has not seen it
	Response []byte
	Ended    bool // the response came to its end, whether or not its last bytes were read
}

// Proxy passes requests on to a server and records them. It is safe for concurrent use.
type Proxy struct {
	// URL is its address, without /v1.
	URL string

	t         *testing.T
	mu        sync.Mutex
	refuse    []string      // guarded by mu
	exchanges []*Exchange   // guarded by mu
	changed   chan struct{} // closed, and replaced, when something of a response came; guarded by mu
}

// NewProxy stands before a server until the test ends.
func NewProxy(t *testing.T, s *Server) *Proxy {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, changed: make(chan struct{})}
	back := &httputil.ReverseProxy{
		// A connection that is used again may be closed by the server at that moment, and the proxy, unlike the
		// client, would not be tried again.
		Transport: &http.Transport{DisableKeepAlives: true},
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, 0), // clients that go away are what is tested
		ModifyResponse: func(r *http.Response) error {
			x := r.Request.Context().Value(exchangeKey{}).(*Exchange)
			p.mu.Lock()
			x.Status = r.StatusCode
			p.mu.Unlock()
			r.Body = &tee{ReadCloser: r.Body, p: p, x: x}
			return nil
		},
	}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(back, w, r) }))
	p.URL = h.URL
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return p
}

// exchangeKey leads from a request to its entry in the book.
type exchangeKey struct{}

// serve records a request and passes it on, or refuses it.
func (p *Proxy) serve(back http.Handler, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	x := &Exchange{Path: r.URL.Path, Format: formatOf(body), Request: body}
	p.mu.Lock()
	p.exchanges = append(p.exchanges, x)
	x.Refused = slices.Contains(p.refuse, x.Format)
	if x.Refused {
		x.Status, x.Ended = http.StatusBadRequest, true
	}
	p.mu.Unlock()
	if x.Refused {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"%s is not supported","type":"invalid_request_error"}}`, x.Format)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	back.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}

// Refuse has the proxy answer requests of these formats with status 400, as servers do that do not know them. It
// replaces what was refused before.
func (p *Proxy) Refuse(formats ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = formats
}

// Exchanges is a copy of all that came by, in order.
func (p *Proxy) Exchanges() []Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Exchange, len(p.exchanges))
	for i, x := range p.exchanges {
		out[i] = *x
		out[i].Response = slices.Clone(x.Response)
	}
	return out
}

// Await waits until an exchange is as wanted, at most a minute.
func (p *Proxy) Await(wanted func(Exchange) bool) {
	p.t.Helper()
	deadline := time.After(time.Minute)
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if slices.ContainsFunc(p.Exchanges(), wanted) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			p.t.Fatal("what was waited for did not come")
		}
	}
}

// formatOf tells how a request asks for structured output, in either provider's protocol.
func formatOf(body []byte) string {
	var q struct {
		Format *struct {
			Type string `json:"type"`
		} `json:"response_format"`
		Output json.RawMessage   `json:"output_config"`
		Tools  []json.RawMessage `json:"tools"`
	}
	switch err := json.Unmarshal(body, &q); {
	case err != nil:
		return "not JSON"
	case q.Format != nil:
		return q.Format.Type
	case q.Output != nil:
		return "json_schema"
	case len(q.Tools) > 0:
		return "tool"
	}
	return "plain"
}

// Reply is the text of an answer with chat completions, as it was streamed, its reason for the end, and the tokens
// that the server reports.
func (x *Exchange) Reply() (text, finish string, input, output int) {
	var b strings.Builder
	for line := range strings.Lines(string(x.Response)) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		var c struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
				Finish string `json:"finish_reason"`
			} `json:"choices"`
			Usage struct {
				Input  int `json:"prompt_tokens"`
				Output int `json:"completion_tokens"`
			} `json:"usage"`
		}
		if !ok || json.Unmarshal([]byte(data), &c) != nil {
			continue
		}
		for _, choice := range c.Choices {
			b.WriteString(choice.Delta.Content)
			if choice.Finish != "" {
				finish = choice.Finish
			}
		}
		if c.Usage.Input > 0 {
			input, output = c.Usage.Input, c.Usage.Output
		}
	}
	return b.String(), finish, input, output
}

// tee keeps what is read of a response.
type tee struct {
	io.ReadCloser
	p *Proxy
	x *Exchange
}

// Read records what it reads.
func (t *tee) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.x.Response = append(t.x.Response, b[:n]...)
	t.x.Ended = t.x.Ended || err == io.EOF || bytes.Contains(t.x.Response, []byte("data: [DONE]")) ||
		bytes.Contains(t.x.Response, []byte("event: message_stop"))
	close(t.p.changed)
	t.p.changed = make(chan struct{})
	return n, err
}
