package llm

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

const (
	connectTimeout = 10 * time.Second
	levelWarn      = slog.LevelWarn
)

// HTTPClient is a client with the transport of this package, that does not follow redirects: a key would go with them.
func HTTPClient() *http.Client { return clientOf(newTransport()) }

func clientOf(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// newTransport is a transport of our own, so that nobody else's settings apply. A proxy named in the environment is used for https
// alone: it then sees the name of the server, and neither key nor prompt.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			if r.URL.Scheme != "https" {
				return nil, nil
			}
			return http.ProxyFromEnvironment(r)
		},
		DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout:    connectTimeout,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    1,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // a stream is to arrive as it is written
		ExpectContinueTimeout:  time.Second,
	}
}

// received is what came of one request.
type received struct {
	answer answer
	status int
	sent   bool // the whole request was written
	fail   *failure
}

// cost says how many tokens the request used: as reported, else estimated, unless the server refused it outright.
func (r *received) cost(input, maxOutput int) cost {
	var used cost
	begun := r.status == http.StatusOK || r.status == 0 && r.sent
	switch a := &r.answer; {
	case a.inKnown:
		used.Reported.Input = int64(a.in)
	case begun:
		used.Estimated.Input = int64(input)
	}
	switch a := &r.answer; {
	case a.outKnown:
		used.Reported.Output = int64(a.out)
	case begun:
		used.Estimated.Output = int64(min(EstimateTokens(a.text.String())+EstimateTokens(a.call.String())+a.thought/4, maxOutput))
	}
	return used
}

// send makes one HTTP request and reads its response.
func (c *Client) send(ctx context.Context, key string, body []byte, stream bool) *received {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.cfg.IdleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()
	var sent atomic.Bool // the trace is called from the transport's goroutines
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) }})
	got := &received{}
	req, err := http.NewRequestWithContext(traced, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		got.fail = failed(ErrRejected, "the request cannot be made")
		return got
	}
	// A retry is this package's decision, and it counts it; the transport must not make its own.
	req.GetBody = nil
	maps.Copy(req.Header, c.cfg.Headers)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if stream {
		req.Header.Set("Accept", "text/event-stream, application/json")
	}
	req.Header.Set("User-Agent", "memsidecar")
	c.wire.authorize(req.Header, key)

	resp, err := c.http.Do(req)
	if err != nil {
		got.sent, got.fail = sent.Load(), c.broken(ctx, err)
		return got
	}
	defer resp.Body.Close()
	idle.Reset(c.cfg.IdleTimeout)
	got.status, got.sent = resp.StatusCode, true
	in := &meter{r: resp.Body, left: MaxReplyBytes, touch: func() { idle.Reset(c.cfg.IdleTimeout) }}
	if resp.StatusCode != http.StatusOK {
		got.fail = c.refused(resp, in, &got.answer)
	} else {
		got.fail = c.read(ctx, resp, in, &got.answer)
	}
	if got.fail != nil {
		got.fail.Status = resp.StatusCode
	}
	return got
}

// read takes the answer out of a response, as a stream or whole, whatever was asked for.
func (c *Client) read(ctx context.Context, resp *http.Response, in io.Reader, a *answer) *failure {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var err error
	if kind == "text/event-stream" {
		err = readEvents(in, c.wire, a)
	} else {
		err = readWhole(in, c.wire, a)
	}
	var said *serverError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errLarge):
		return failed(ErrTooLarge, fmt.Sprintf("the response has more than %d MiB", MaxReplyBytes>>20))
	case errors.As(err, &said):
		fail := failed(ErrServer, "")
		fail.Code, fail.retry = said.code, true
		return fail
	case errors.Is(err, errNotModel):
		return failed(ErrNotModel, "the response is not the JSON of a chat")
	}
	return c.broken(ctx, err)
}

// broken classifies an error of the transport.
func (c *Client) broken(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		fail := failed(ErrTimeout, "")
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, errIdle):
			fail.Detail = fmt.Sprintf("%v (%s)", errIdle, c.cfg.IdleTimeout)
		case errors.Is(cause, errTotal):
			fail.Detail = fmt.Sprintf("%v (%s)", errTotal, c.cfg.Timeout)
		}
		return fail
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	var fail *failure
	switch _, verify := errors.AsType[*tls.CertificateVerificationError](err); {
	case verify, isTLS(err):
		fail = failed(ErrTLS, err.Error())
	default:
		fail = failed(ErrUnreachable, brokenDetail(err))
		fail.retry = true
	}
	fail.Cause = err
	return fail
}

// brokenDetail is what can be told of an error of the transport: some quote what the server sent.
func brokenDetail(err error) string {
	_, network := errors.AsType[*net.OpError](err)
	_, lookup := errors.AsType[*net.DNSError](err)
	switch {
	case network, lookup, errors.Is(err, errBroken):
		return err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	}
	return "the connection broke, or what arrives is not HTTP"
}

func isTLS(err error) bool {
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return header || unknown || alert || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// meter reads at most left bytes and tells of every arrival.
type meter struct {
	r     io.Reader
	left  int
	touch func()
}

var errLarge = errors.New("too many bytes")

func (m *meter) Read(p []byte) (int, error) {
	if len(p) > m.left+1 {
		p = p[:m.left+1]
	}
	n, err := m.r.Read(p)
	if n > 0 {
		m.touch()
	}
	if m.left -= n; m.left < 0 {
		return 0, errLarge
	}
	return n, err
}

// logRequest writes the line of a request: nothing in it comes from a prompt, a reply or a key.
func (c *Client) logRequest(ctx context.Context, took time.Duration, q query, got *received, used cost) {
	level, attrs := slog.LevelInfo, []slog.Attr{
		slog.String("provider", c.cfg.Provider), slog.String("model", c.cfg.Model), slog.String("output", string(q.rung)),
		slog.Int("status", got.status), slog.Duration("took", took),
		slog.Int64("input_tokens", used.Reported.Input+used.Estimated.Input), slog.Int64("output_tokens", used.Reported.Output+used.Estimated.Output),
		slog.Bool("estimated", used.Estimated != Tokens{}),
	}
	if got.fail != nil {
		level, attrs = levelWarn, append(attrs, errAttr(got.fail.Reason), slog.String("code", got.fail.Code))
	}
	c.log.LogAttrs(ctx, level, "model asked", attrs...)
}

func errAttr(err error) slog.Attr { return slog.String("error", err.Error()) }
