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

// HTTPClient is a client with this package's transport. It does not follow redirects, which would forward the key.
func HTTPClient() *http.Client { return clientOf(newTransport()) }

// clientOf is a client that returns redirects instead of following them.
func clientOf(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// newTransport does not share http.DefaultTransport, so other packages cannot change its settings. A proxy from the
// environment is used for https only: it then sees the host name, but neither key nor prompt.
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
		DisableCompression:     true, // compression would delay the events of a stream
		ExpectContinueTimeout:  time.Second,
	}
}

// roundTrip is the result of one HTTP request.
type roundTrip struct {
	answer answer
	status int
	// the whole request was written
	sent bool
	fail *failure
}

// cost returns the tokens of the request: as the server reported them, else estimated. A request that the server
// rejected without a report costs nothing.
func (r *roundTrip) cost(input, maxOutput int) cost {
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
		used.Estimated.Output = int64(min(
			EstimateTokens(a.text.String())+EstimateTokens(a.toolCall.String())+a.reasoningBytes/4,
			maxOutput))
	}
	return used
}

// send makes one HTTP request and decodes its response. The body is always closed on return.
func (c *Client) send(ctx context.Context, key string, body []byte, stream bool) *roundTrip {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.cfg.IdleTimeout, func() { cancel(errIdleTimeout) })
	defer idle.Stop()
	var sent atomic.Bool // written by the transport's goroutines
	traced := httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) }})
	got := &roundTrip{}
	req, err := http.NewRequestWithContext(traced, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		got.fail = newFailure(ErrRejected, "the request cannot be made")
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
	c.provider.setHeaders(req.Header, key)

	resp, err := c.http.Do(req)
	if err != nil {
		got.sent, got.fail = sent.Load(), c.transportFailure(ctx, err)
		return got
	}
	defer resp.Body.Close()
	idle.Reset(c.cfg.IdleTimeout)
	got.status, got.sent = resp.StatusCode, true
	in := &limitedReader{r: resp.Body, remaining: MaxReplyBytes, onRead: func() { idle.Reset(c.cfg.IdleTimeout) }}
	if resp.StatusCode != http.StatusOK {
		got.fail = c.statusFailure(resp, in, &got.answer)
	} else {
		got.fail = c.readAnswer(ctx, resp, in, &got.answer)
	}
	if got.fail != nil {
		got.fail.Status = resp.StatusCode
	}
	return got
}

// readAnswer decodes a response as a stream or as one body. The Content-Type decides, because some servers ignore
// "stream".
func (c *Client) readAnswer(ctx context.Context, resp *http.Response, in io.Reader, a *answer) *failure {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var err error
	if kind == "text/event-stream" {
		err = decodeStream(in, c.provider, a)
	} else {
		err = decodeWhole(in, c.provider, a)
	}
	var said *serverError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooManyBytes):
		return newFailure(ErrTooLarge, fmt.Sprintf("the response is larger than %d MiB", MaxReplyBytes>>20))
	case errors.As(err, &said):
		fail := newFailure(ErrServer, "")
		fail.Code, fail.retry = said.code, true
		return fail
	case errors.Is(err, errNotModel):
		return newFailure(ErrNotModel, "the response is not chat JSON")
	}
	return c.transportFailure(ctx, err)
}

// transportFailure classifies an error below HTTP: timeout, TLS, network.
func (c *Client) transportFailure(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		fail := newFailure(ErrTimeout, "")
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, errIdleTimeout):
			fail.Detail = fmt.Sprintf("%v (%s)", errIdleTimeout, c.cfg.IdleTimeout)
		case errors.Is(cause, errTotalTimeout):
			fail.Detail = fmt.Sprintf("%v (%s)", errTotalTimeout, c.cfg.Timeout)
		}
		return fail
	}
	// The URL may hold a key, so the error is shown without it.
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	var fail *failure
	switch _, verify := errors.AsType[*tls.CertificateVerificationError](err); {
	case verify, isTLS(err):
		fail = newFailure(ErrTLS, err.Error())
	default:
		fail = newFailure(ErrUnreachable, transportDetail(err))
		fail.retry = true
	}
	fail.Cause = err
	return fail
}

// transportDetail describes a transport error. Errors that may quote the response are replaced by a fixed text.
func transportDetail(err error) string {
	_, network := errors.AsType[*net.OpError](err)
	_, lookup := errors.AsType[*net.DNSError](err)
	switch {
	case network, lookup, errors.Is(err, errIncomplete):
		return err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	}
	return "the connection failed, or the server does not speak HTTP"
}

// isTLS reports whether an error comes from the TLS handshake.
func isTLS(err error) bool {
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return header || unknown || alert || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// limitedReader fails with errTooManyBytes after remaining bytes, and calls onRead for each successful read.
// io.LimitReader would report a normal end instead.
type limitedReader struct {
	r         io.Reader
	remaining int
	onRead    func()
}

// errTooManyBytes is the error of a limitedReader.
var errTooManyBytes = errors.New("too many bytes")

// Read implements io.Reader. One byte more than remaining is requested, to tell a body of exactly that size from a
// longer one.
func (m *limitedReader) Read(p []byte) (int, error) {
	if len(p) > m.remaining+1 {
		p = p[:m.remaining+1]
	}
	n, err := m.r.Read(p)
	if n > 0 {
		m.onRead()
	}
	if m.remaining -= n; m.remaining < 0 {
		return 0, errTooManyBytes
	}
	return n, err
}

// logRequest writes one line per request. It contains nothing of prompts, replies or keys.
func (c *Client) logRequest(ctx context.Context, took time.Duration, q query, got *roundTrip, used cost) {
	level, attrs := slog.LevelInfo, []slog.Attr{
		slog.String("provider", c.cfg.Provider), slog.String("model", c.cfg.Model),
		slog.String("output", string(q.outputMode)),
		slog.Int("status", got.status), slog.Duration("took", took),
		slog.Int64("input_tokens", used.Reported.Input+used.Estimated.Input),
		slog.Int64("output_tokens", used.Reported.Output+used.Estimated.Output),
		slog.Bool("estimated", used.Estimated != Tokens{}),
	}
	if got.fail != nil {
		level, attrs = levelWarn, append(attrs, errAttr(got.fail.Reason), slog.String("code", got.fail.Code))
	}
	c.log.LogAttrs(ctx, level, "model request", attrs...)
}

func errAttr(err error) slog.Attr { return slog.String("error", err.Error()) }
