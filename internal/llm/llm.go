// Package llm asks a language model one question and returns one JSON object.
//
// It supports OpenAI's chat completions API and Anthropic's messages API with net/http alone. Each question is
// bounded in time, bytes, retries and tokens. The client requests structured output in the strictest mode the server
// accepts, and returns a reply only after it has been extracted, decoded and checked. The package does not depend on
// the content of questions, stores nothing, and never logs a prompt, a reply or a key.
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

// The supported APIs, as Config.Provider.
const (
	// any server with POST {base}/chat/completions
	OpenAI    = "openai"
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

// MaxReplyBytes limits the body of one response; a longer body fails with ErrTooLarge.
const MaxReplyBytes = 4 << 20

// Config selects the model and its limits. The zero value of an optional field means its default.
type Config struct {
	// Provider is OpenAI or Anthropic.
	Provider string
	// BaseURL is the address before the provider's path, such as http://localhost:11434/v1. Default: DefaultBaseURL.
	BaseURL string
	// AllowHTTP permits plain http to remote hosts. Prompts and the key then cross the network unencrypted.
	AllowHTTP bool
	// Model is the server's name for the model. Required.
	Model string
	// Key returns the API key. It is called for each request, so a rotated key file needs no restart. Nil, or an
	// empty key, sends no key. See KeyFromEnv and KeyFromFile.
	Key func() (string, error)
	// Headers are added to each request; CheckHeader says which are allowed.
	Headers http.Header
	// Timeout limits one question including its retries, but not the wait for a free slot. Default DefaultTimeout.
	Timeout time.Duration
	// IdleTimeout limits the time without a received byte. Default DefaultIdleTimeout.
	IdleTimeout time.Duration
	// MaxOutputTokens limits a reply; a Request may ask for less. Default DefaultMaxOutputTokens.
	MaxOutputTokens int
	// Concurrency is the number of questions in flight; further ones wait. Default DefaultConcurrency.
	Concurrency int
	// Ledger counts and limits tokens. Nil disables both.
	Ledger *Ledger
	// Transport replaces the default transport, for tests.
	Transport http.RoundTripper
	// Now is the clock. Required.
	Now func() time.Time
	// Logger gets one line per request: duration, status, token counts. Nil disables it.
	Logger *slog.Logger
}

// Request is one question.
type Request struct {
	// System is the system prompt, User the first user message.
	System, User string
	// Schema is the JSON schema of the reply. It must describe an object. Required.
	Schema json.RawMessage
	// Name is the schema's name on the wire: letters, digits and underscores. Default "reply".
	Name string
	// MaxInputTokens rejects a question whose estimate is larger, before anything is sent. 0 means no limit.
	MaxInputTokens int
	// MaxOutputTokens limits the reply. 0, or a value above Config.MaxOutputTokens, means the latter.
	MaxOutputTokens int
	// Check validates a reply; see Into. On an error the model is asked once more, with the error's text. Nil accepts
	// any object.
	Check func(json.RawMessage) error
	// NoRetry disables retries, so that a connection test reports the first failure.
	NoRetry bool
}

// Reply is the result of a question.
type Reply struct {
	// JSON is the first object in the reply that Check accepts.
	JSON json.RawMessage
	// Usage is the sum over all requests of the question, failed ones included.
	Usage Usage
	// OutputMode is how the accepted reply was requested.
	OutputMode OutputMode
	// Repaired is true when Check refused the first reply and accepted the second.
	Repaired bool
}

// OutputMode is a way to request structured output.
type OutputMode string

// The modes, strictest first. OpenAI's API has no OutputTool here, Anthropic's no OutputJSON.
const (
	// the server enforces the schema
	OutputSchema OutputMode = "json_schema"
	// the reply is the argument of a forced tool call
	OutputTool OutputMode = "tool"
	// the server enforces a JSON object of any form
	OutputJSON OutputMode = "json_object"
	// only the prompt asks for JSON
	OutputPlain OutputMode = "plain"
)

// Usage counts requests and tokens.
type Usage struct {
	Requests      int // sent or tried
	Input, Output int // tokens
	// part of the counts is an estimate, because the server did not report it
	Estimated bool
}

// Client asks one model. Make one per process: the concurrency limit and the remembered dialect belong to the client.
// It is safe for concurrent use and starts no goroutine that outlives a call.
type Client struct {
	cfg      Config
	provider provider
	url      string
	http     *http.Client
	log      *slog.Logger
	slots    chan struct{}

	mu sync.Mutex
	// guarded by mu: the form of request that the server accepted last
	dialect dialect
}

// New makes a client without connecting. The error joins all problems of cfg and never contains a key.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	w := providers[cfg.Provider]
	base, err := parseBase(cfg.BaseURL, cfg.AllowHTTP)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, provider: w, url: endpoint(base, w), log: cfg.Logger,
		slots: make(chan struct{}, cfg.Concurrency)}
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

// withDefaults fills in optional fields.
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

// orDefault sets a field to value if it is zero.
func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate joins all problems of a completed configuration.
func (cfg Config) validate() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, ok := providers[cfg.Provider]; !ok {
		add("provider %q is not known; use %s or %s", cfg.Provider, OpenAI, Anthropic)
	} else if err := CheckBaseURL(cfg.BaseURL, cfg.AllowHTTP); err != nil {
		add("base URL %w", err)
	}
	if cfg.Model == "" {
		add("the model is not set")
	}
	if cfg.Timeout < 0 || cfg.IdleTimeout < 0 {
		add("a timeout must be more than 0")
	}
	if cfg.MaxOutputTokens < 1 {
		add("the maximum of output tokens must be 1 or more")
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
		add("the clock is not set")
	}
	return errors.Join(errs...)
}

// Endpoint is the full URL of requests.
func (c *Client) Endpoint() string { return c.url }

// Proxy is the host of the proxy for Endpoint, "" without one.
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

// Do asks a question. It waits for a free slot as long as ctx allows, and then takes at most Config.Timeout. The
// error wraps ctx.Err() when ctx ended, and is an *Error otherwise; Reply.Usage is set in both cases.
func (c *Client) Do(ctx context.Context, req Request) (Reply, error) {
	req, err := c.prepare(req)
	if err != nil {
		return Reply{}, err
	}
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return Reply{}, fmt.Errorf("wait for a free slot to ask the model: %w", ctx.Err())
	}
	// Started once the slot is free: waiting for others is not the model's fault.
	timed, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, errTotalTimeout)
	defer cancel()
	x := &exchange{client: c, req: req, retriesLeft: maxRetries, dialect: c.currentDialect()}
	if req.NoRetry {
		x.retriesLeft = 0
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

// prepare fills in a request's defaults and validates it.
func (c *Client) prepare(req Request) (Request, error) {
	if !isObject(req.Schema) {
		return req, &Error{Reason: ErrRejected, Detail: "the schema is missing or not a JSON object"}
	}
	orDefault(&req.Name, "reply")
	if req.MaxOutputTokens <= 0 || req.MaxOutputTokens > c.cfg.MaxOutputTokens {
		req.MaxOutputTokens = c.cfg.MaxOutputTokens
	}
	if n := EstimateTokens(req.System) + EstimateTokens(req.User); req.MaxInputTokens > 0 && n > req.MaxInputTokens {
		return req, &Error{Reason: ErrTooLarge,
			Detail: fmt.Sprintf("the question has about %d tokens; the limit is %d", n, req.MaxInputTokens)}
	}
	return req, nil
}

// currentDialect returns a copy of the remembered dialect.
func (c *Client) currentDialect() dialect {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dialect
}

// rememberDialect keeps the form of an accepted request for later ones. schemaInPrompt is never unset: one ignored
// schema shows that the server does not enforce it.
func (c *Client) rememberDialect(m dialect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.schemaInPrompt = m.schemaInPrompt || c.dialect.schemaInPrompt
	c.dialect = m
}
