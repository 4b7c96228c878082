// Package embed asks a server with OpenAI's /v1/embeddings what texts mean: in batches and patiently for what is stored, and
// within a moment or not at all for what somebody waits for. It stores nothing but the newest answers for queries, in RAM.
package embed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/vector"
)

// Why there are no vectors.
var (
	// ErrUnavailable says that the server, the key or the model is in the way: the same texts may work later.
	ErrUnavailable = errors.New("the embeddings server does not answer as it should")
	// ErrRefused says that the server does not take these texts; fewer or shorter ones may work.
	ErrRefused = errors.New("the embedding model does not take these texts")
)

const (
	// MaxBatch is the most texts in one Embed.
	MaxBatch = 64

	attempts  = 3                // of one Embed
	firstWait = time.Second / 2  // before the second, doubled for the third
	mostWait  = 30 * time.Second // that a server may ask for
	bulkTime  = 2 * time.Minute  // one request for what is stored
	queryTime = 250 * time.Millisecond
	restAfter = 15 * time.Second // without queries, after one that failed: nobody waits for a server that is down twice
	queries   = 4                // at once
	answers   = 512              // kept
)

// Config of a Client.
type Config struct {
	URL         string                 // base of the address, such as http://localhost:11434/v1
	Model       string                 // as the server knows it
	Key         func() (string, error) // nil for a server without keys; asked for each request
	QueryPrefix string                 // put before what is searched for; some models are trained that way
	TextPrefix  string                 // put before what is stored
	Clean       func(string) string    // takes out what must not leave the machine; nil changes nothing
	HTTP        *http.Client           // must not follow redirects, or the key would go with them
	Now         func() time.Time
	Logger      *slog.Logger
}

// Client is one model of one server. It is safe for concurrent use.
type Client struct {
	cfg  Config
	busy chan struct{} // has room for the queries that may be asked at once

	recent *vector.Recent

	mu     sync.Mutex
	rests  time.Time // until when no query is asked; guarded by mu
	failed error     // how the last query failed, nil when it did not; guarded by mu
}

// New returns a Client that has asked nothing yet.
func New(cfg Config) *Client {
	cfg.URL = strings.TrimRight(cfg.URL, "/") + "/embeddings"
	if cfg.Clean == nil {
		cfg.Clean = func(s string) string { return s }
	}
	return &Client{cfg: cfg, busy: make(chan struct{}, queries), recent: vector.NewRecent(answers)}
}

// Identity names what makes the vectors: those of different identities cannot be compared. The prefix of queries is no part of
// it, since nothing stored depends on it.
func (c *Client) Identity() string {
	return fmt.Sprintf("%s %s %q", c.cfg.URL, c.cfg.Model, c.cfg.TextPrefix)
}

// Embed returns the directions of 1 to MaxBatch texts, in their order, all of one dimension. It tries again when that may help, so it can
// take minutes. Errors: ErrUnavailable, ErrRefused, that of ctx when it ended.
func (c *Client) Embed(ctx context.Context, texts []string) ([]vector.Direction, error) {
	wait := firstWait
	for attempt := 1; ; attempt++ {
		out, after, err := c.bulk(ctx, texts)
		if err == nil || after < 0 || attempt == attempts {
			return out, err
		}
		timer := time.NewTimer(max(wait, min(after, mostWait)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
		wait *= 2
	}
}

func (c *Client) bulk(ctx context.Context, texts []string) ([]vector.Direction, time.Duration, error) {
	bound, cancel := context.WithTimeout(ctx, bulkTime)
	defer cancel()
	out, after, err := c.ask(bound, c.cfg.TextPrefix, texts)
	if ctx.Err() != nil {
		return nil, -1, ctx.Err()
	}
	return out, after, err
}

// Query returns the direction of what is searched for, within a quarter of a second. After a failure the server is left alone for a
// while, and queries fail at once. Errors: ErrUnavailable, ErrRefused, that of ctx when it ended.
func (c *Client) Query(ctx context.Context, text string) (vector.Direction, error) {
	key := vector.KeyOf(text)
	if d, known := c.recent.Get(key); known {
		return d, nil
	}
	c.mu.Lock()
	rests, failed := c.rests, c.failed
	c.mu.Unlock()
	if c.cfg.Now().Before(rests) {
		return vector.Direction{}, failed
	}
	d, err := c.query(ctx, text)
	if ctx.Err() != nil {
		return vector.Direction{}, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.failed = err; {
	case err == nil:
		c.recent.Put(key, d)
	case errors.Is(err, ErrUnavailable):
		c.rests = c.cfg.Now().Add(restAfter)
		c.cfg.Logger.Warn("searching by words alone for a while", slog.Any("error", err), slog.Duration("while", restAfter))
	}
	return d, err
}

func (c *Client) query(ctx context.Context, text string) (vector.Direction, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	select {
	case c.busy <- struct{}{}:
		defer func() { <-c.busy }()
	case <-ctx.Done():
		return vector.Direction{}, unavailable("it has too many queries to answer")
	}
	out, _, err := c.ask(ctx, c.cfg.QueryPrefix, []string{text})
	if err != nil {
		return vector.Direction{}, err
	}
	return out[0], nil
}

// Trouble is how the last query failed, nil when it did not.
func (c *Client) Trouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Forget drops what is kept for queries.
func (c *Client) Forget() { c.recent.Forget() }

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnavailable, fmt.Sprintf(format, args...))
}

// Calibrated is false: which cosines of a server's model mean something is not known.
func (c *Client) Calibrated() bool { return false }
