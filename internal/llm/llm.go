// Package llm asks a language model one question and takes one JSON object for an answer.
//
// It speaks to servers with OpenAI's chat completions or Anthropic's messages by net/http alone. It bounds what a question may cost in time, bytes,
// retries and tokens, asks for structured output in the strictest way the server accepts, and believes no reply before it has been found,
// decoded and checked. It knows nothing of what is asked, stores nothing, and never logs a prompt, a reply or a key.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// The providers.
const (
	OpenAI    = "openai"    // any server with POST {base}/chat/completions
	Anthropic = "anthropic" // POST {base}/v1/messages
)

// Defaults and bounds of Config.
const (
	DefaultTimeout         = 10 * time.Minute
	DefaultIdleTimeout     = 2 * time.Minute
	DefaultMaxOutputTokens = 8192
	DefaultConcurrency     = 2
	MaxConcurrency         = 64
)

// MaxReplyBytes bounds the body of one response; a longer one is ErrTooLarge.
const MaxReplyBytes = 4 << 20

// Config says which model to ask, and how. The zero value of a field stands for its default.
type Config struct {
	// Provider is OpenAI or Anthropic.
	Provider string
	// BaseURL is the address that the provider's path is appended to. Default: the provider's own.
	BaseURL string
	// AllowHTTP permits plain http to hosts other than this one: prompts and key cross the network readable.
	AllowHTTP bool
	// Model is the name the server knows the model by.
	Model string
	// Key returns the key, and is called for each request, so that a key can be changed in its file. Nil, or an empty key, sends none.
	// See KeyFromEnv and KeyFromFile.
	Key func() (string, error)
	// Headers are added to each request; see CheckHeader.
	Headers http.Header
	// Timeout bounds one question with all its retries. Waiting for others to finish does not count. Default DefaultTimeout.
	Timeout time.Duration
	// IdleTimeout bounds the time in which not one byte arrives. Default DefaultIdleTimeout.
	IdleTimeout time.Duration
	// MaxOutputTokens bounds what a reply may have, unless the request says less. Default DefaultMaxOutputTokens.
	MaxOutputTokens int
	// Concurrency is how many questions are asked at once; others wait. Default DefaultConcurrency.
	Concurrency int
	// Ledger counts and limits tokens. Nil counts nothing and has no limit.
	Ledger *Ledger
	// Transport replaces the client's own, for tests.
	Transport http.RoundTripper
	// Now is the clock. Required.
	Now func() time.Time
	// Logger gets a line for each request: durations, status, counts. Nil logs nothing.
	Logger *slog.Logger
}

// Request is one question.
type Request struct {
	// System says what the model is to do, User what with.
	System, User string
	// Schema is the JSON schema of the reply, an object's; it is required.
	Schema json.RawMessage
	// Name names the schema to the server: letters, digits and underscores. Default "reply".
	Name string
	// MaxInputTokens refuses a question that is estimated to be longer, before anything is sent. 0 does not.
	MaxInputTokens int
	// MaxOutputTokens bounds the reply; 0, and more than Config has, means Config's.
	MaxOutputTokens int
	// Check accepts a reply or says what is wrong with it; see Into. Its error is told to the model, once. Nil accepts any object.
	Check func(json.RawMessage) error
	// Once makes no retries: for whoever wants to see a failure rather than survive it.
	Once bool
}

// Reply is what came of a question.
type Reply struct {
	// JSON is the first object in the reply that Check accepts.
	JSON json.RawMessage
	// Usage is the sum over all requests that the question took, also those that failed.
	Usage Usage
	// Rung is how structured output was asked for in the end.
	Rung Rung
	// Repaired says that the first reply was refused by Check, and a second one accepted.
	Repaired bool
}

// Rung is a way to ask for structured output.
type Rung string

// The rungs, strictest first. OpenAI's ladder has no tool, Anthropic's no object.
const (
	RungSchema Rung = "json_schema" // the server is to enforce the schema
	RungTool   Rung = "tool"        // the reply is the argument of a call the model must make
	RungObject Rung = "json_object" // the server is to enforce some JSON object
	RungPlain  Rung = "plain"       // the prompt alone asks for it
)

// Usage is the number of tokens used.
type Usage struct {
	Requests      int  // sent or tried
	Input, Output int  // tokens
	Estimated     bool // some of them were not reported by the server
}

// Client asks one model. Make one per process: its limit of concurrency and what it learns about the server are its own.
// It is safe for concurrent use and starts no goroutine that outlives a call.
type Client struct {
	cfg   Config
	wire  wire
	url   string
	http  *http.Client
	log   *slog.Logger
	slots chan struct{}

	mu   sync.Mutex
	mode mode // guarded by mu: what is known of the server
}

// New makes a client without connecting. The error joins everything that is wrong with cfg, and never holds a key.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	w := wires[cfg.Provider]
	base, err := parseBase(cfg.BaseURL, cfg.AllowHTTP)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, wire: w, url: endpoint(base, w), log: cfg.Logger, slots: make(chan struct{}, cfg.Concurrency)}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	transport := cfg.Transport
	if transport == nil {
		transport = newTransport()
	}
	c.http = clientOf(transport)
	return c, nil
}

func (cfg Config) withDefaults() Config {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL(cfg.Provider)
	}
	orDefault(&cfg.Timeout, DefaultTimeout)
	orDefault(&cfg.IdleTimeout, DefaultIdleTimeout)
	orDefault(&cfg.MaxOutputTokens, DefaultMaxOutputTokens)
	orDefault(&cfg.Concurrency, DefaultConcurrency)
	return cfg
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (cfg Config) validate() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, ok := wires[cfg.Provider]; !ok {
		add("provider %q is not known; use %s or %s", cfg.Provider, OpenAI, Anthropic)
	} else if err := CheckBaseURL(cfg.BaseURL, cfg.AllowHTTP); err != nil {
		add("base URL %w", err)
	}
	if cfg.Model == "" {
		add("no model is named")
	}
	if cfg.Timeout < 0 || cfg.IdleTimeout < 0 {
		add("a timeout must be more than 0")
	}
	if cfg.MaxOutputTokens < 1 {
		add("the bound on output tokens must be 1 or more")
	}
	if cfg.Concurrency < 1 || cfg.Concurrency > MaxConcurrency {
		add("concurrency must be from 1 to %d", MaxConcurrency)
	}
	for name, values := range cfg.Headers {
		for _, v := range values {
			if err := CheckHeader(name, v); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if cfg.Now == nil {
		add("there is no clock")
	}
	return errors.Join(errs...)
}

// Endpoint is the address that requests go to.
func (c *Client) Endpoint() string { return c.url }

// Proxy is the host of the proxy that requests go through, empty when there is none.
func (c *Client) Proxy() string {
	t, ok := c.http.Transport.(*http.Transport)
	if !ok || t.Proxy == nil {
		return ""
	}
	u, err := url.Parse(c.url)
	if err != nil {
		return ""
	}
	if proxy, err := t.Proxy(&http.Request{URL: u}); err == nil && proxy != nil {
		return proxy.Host
	}
	return ""
}

// Do asks a question. It waits for its turn as long as ctx allows, and then takes at most Config.Timeout. The error is ctx's own when ctx
// ended, and an *Error otherwise.
func (c *Client) Do(ctx context.Context, req Request) (Reply, error) {
	req, err := c.prepare(req)
	if err != nil {
		return Reply{}, err
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return Reply{}, fmt.Errorf("wait to ask the model: %w", ctx.Err())
	}
	timed, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errTotal)
	defer cancel()
	x := &exchange{client: c, req: req, retries: maxRetries, mode: c.known()}
	if req.Once {
		x.retries = 0
	}
	reply, err := x.run(timed)
	reply.Usage = x.usage
	if err == nil {
		return reply, nil
	}
	if ctx.Err() != nil {
		return reply, fmt.Errorf("ask the model: %w", ctx.Err())
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.Usage = x.usage
	}
	return reply, err
}

// prepare fills in a request's defaults and refuses what cannot be asked.
func (c *Client) prepare(req Request) (Request, error) {
	if !isObject(req.Schema) {
		return req, &Error{Reason: ErrRejected, Detail: "the request has no schema"}
	}
	orDefault(&req.Name, "reply")
	if req.MaxOutputTokens <= 0 || req.MaxOutputTokens > c.cfg.MaxOutputTokens {
		req.MaxOutputTokens = c.cfg.MaxOutputTokens
	}
	if n := EstimateTokens(req.System) + EstimateTokens(req.User); req.MaxInputTokens > 0 && n > req.MaxInputTokens {
		return req, &Error{Reason: ErrTooLarge, Detail: fmt.Sprintf("the question has about %d tokens, %d are allowed", n, req.MaxInputTokens)}
	}
	return req, nil
}

// known is a copy of what is known of the server.
func (c *Client) known() mode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mode
}

// learn keeps what an accepted request has shown of the server.
func (c *Client) learn(m mode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.tell = m.tell || c.mode.tell
	c.mode = m
}
