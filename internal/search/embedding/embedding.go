// Package embedding defines what an embedding model is to the search engine, and implements one: a client of a server
// with OpenAI's /v1/embeddings. The client retries what is stored for minutes and answers a query within a quarter of
// a second or not at all. It stores nothing but the vectors of the newest queries, in RAM. Package bert has the
// models inside the program.
package embedding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/search/vector"
)

// Reasons why a text has no vector.
var (
	// ErrUnavailable says that the server, the key or the model is in the way: the same texts may work later.
	ErrUnavailable = errors.New("the embeddings server does not answer as it should")
	// ErrRefused says that the model does not take one of these texts; fewer or shorter ones may work.
	ErrRefused = errors.New("the embedding model does not take these texts")
	// ErrTooSlow says that a query was not embedded in time.
	ErrTooSlow = errors.New("the embedding model takes too long for a query")
)

const (
	// MaxBatch is the greatest number of texts of one EmbedDocuments.
	MaxBatch = 64
	// QueryTimeout bounds EmbedQuery of a server: the caller waits for the answer.
	QueryTimeout = 250 * time.Millisecond
	// CachedQueries is the number of queries whose vectors a model caches.
	CachedQueries = 128

	maxAttempts  = 3                // requests of one EmbedDocuments
	firstBackoff = time.Second / 2  // before the second attempt; doubled before the third
	maxBackoff   = 30 * time.Second // longest wait that a server may ask for
	batchTimeout = 2 * time.Minute  // of one request for stored texts
	// without queries after a failed one, so that only one caller waits for a server that is down
	queryPause = 15 * time.Second
	maxQueries = 4 // concurrent query requests
)

// Config of a Client.
type Config struct {
	URL         string                 // base address, such as http://localhost:11434/v1
	Model       string                 // name of the model on the server
	Key         func() (string, error) // API key, read for each request; nil for a server without keys
	QueryPrefix string                 // put before queries; some models are trained with one
	TextPrefix  string                 // put before stored texts
	Clean       func(string) string    // removes what must not leave the machine; nil changes nothing
	HTTP        *http.Client           // must not follow redirects: the key would go with them
	Now         func() time.Time
	Logger      *slog.Logger
}

// Client is one model of one server. It implements Model and is safe for concurrent use.
type Client struct {
	cfg   Config
	slots chan struct{} // semaphore of query requests
	cache *vector.Cache[vector.Quantized]

	mu          sync.Mutex
	pausedUntil time.Time // no query is sent before; guarded by mu
	lastErr     error     // of the last query, nil when it succeeded; guarded by mu
}

var _ Model = (*Client)(nil)

// New returns a Client. It sends nothing yet.
func New(cfg Config) *Client {
	cfg.URL = strings.TrimRight(cfg.URL, "/") + "/embeddings"
	if cfg.Clean == nil {
		cfg.Clean = func(s string) string { return s }
	}
	return &Client{cfg: cfg, slots: make(chan struct{}, maxQueries),
		cache: vector.NewCache[vector.Quantized](CachedQueries)}
}

// Name is "server".
func (c *Client) Name() string { return "server" }

// Identity names the server, the model and the prefix of texts. The prefix of queries is not part of it: nothing
// stored depends on it.
func (c *Client) Identity() string {
	return fmt.Sprintf("%s %s %q", c.cfg.URL, c.cfg.Model, c.cfg.TextPrefix)
}

// Calibrated is false: nobody measured the cosines of a server's model.
func (c *Client) Calibrated() bool { return false }

// Supports is true: which languages a server's model knows is unknown, and it refuses texts itself.
func (c *Client) Supports(string) bool { return true }

// EmbedDocuments embeds 1 to MaxBatch texts in their order; all vectors have one dimension, and there are no token
// vectors. It retries, so it can take minutes. Errors: ErrUnavailable, ErrRefused, that of ctx.
func (c *Client) EmbedDocuments(ctx context.Context, texts []string) ([]Document, error) {
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		vectors, retryAfter, err := c.requestBatch(ctx, texts)
		if err == nil {
			out := make([]Document, len(vectors))
			for i, v := range vectors {
				out[i].Vector = v
			}
			return out, nil
		}
		if retryAfter == noRetry || attempt == maxAttempts {
			return nil, err
		}
		timer := time.NewTimer(max(backoff, min(retryAfter, maxBackoff)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
		backoff *= 2
	}
}

// requestBatch makes one request for stored texts.
func (c *Client) requestBatch(ctx context.Context, texts []string) ([]vector.Quantized, time.Duration, error) {
	bounded, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	out, retryAfter, err := c.request(bounded, c.cfg.TextPrefix, texts)
	if ctx.Err() != nil {
		return nil, noRetry, ctx.Err()
	}
	return out, retryAfter, err
}

// EmbedQuery embeds a query within QueryTimeout. After a failure it sends nothing for a while and returns the same
// error at once. Errors: ErrUnavailable, ErrRefused, that of ctx.
func (c *Client) EmbedQuery(ctx context.Context, text string) (Query, error) {
	key := vector.KeyOf(text)
	if v, ok := c.cache.Get(key); ok {
		return Query{Vector: v}, nil
	}
	c.mu.Lock()
	pausedUntil, lastErr := c.pausedUntil, c.lastErr
	c.mu.Unlock()
	// A server that is down would make every prompt wait for its time-out.
	if c.cfg.Now().Before(pausedUntil) {
		return Query{}, lastErr
	}
	v, err := c.requestQuery(ctx, text)
	if ctx.Err() != nil {
		return Query{}, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.lastErr = err; {
	case err == nil:
		c.cache.Put(key, v)
	case errors.Is(err, ErrUnavailable):
		c.pausedUntil = c.cfg.Now().Add(queryPause)
		c.cfg.Logger.Warn("cannot embed queries; searching by words alone for a while",
			slog.Any("error", err), slog.Duration("pause", queryPause))
	}
	return Query{Vector: v}, err
}

// requestQuery makes one request for a query.
func (c *Client) requestQuery(ctx context.Context, text string) (vector.Quantized, error) {
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return vector.Quantized{}, unavailable("too many queries are waiting for it")
	}
	out, _, err := c.request(ctx, c.cfg.QueryPrefix, []string{text})
	if err != nil {
		return vector.Quantized{}, err
	}
	return out[0], nil
}

// LastQueryError is the error of the last query, nil when it succeeded.
func (c *Client) LastQueryError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastErr
}

// CacheUse counts the queries that were looked for in the cache.
func (c *Client) CacheUse() vector.CacheUse { return c.cache.Use() }

// ClearCache drops the vectors of queries.
func (c *Client) ClearCache() { c.cache.Clear() }

// unavailable returns an ErrUnavailable with its cause, which starts with "it": the server.
func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnavailable, fmt.Sprintf(format, args...))
}
