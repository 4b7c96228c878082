package rpc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// Monitor stands around every request: it gives it an id, bounds its size, turns panics and errors into statuses,
// writes its one line of log and remembers how long it took. It is safe for concurrent use.
type Monitor struct {
	log       *slog.Logger
	now       func() time.Time
	latencies latencies
	observe   func(method, code string, took time.Duration) // may be nil
	begun     atomic.Int64                                  // calls with one request
	running   atomic.Int64                                  // of these
}

// Observe has every call counted by f, which must be quick. It is set before the server serves.
func (m *Monitor) Observe(f func(method, code string, took time.Duration)) { m.observe = f }

// NewMonitor returns a Monitor that logs to log.
func NewMonitor(log *slog.Logger, now func() time.Time) *Monitor {
	return &Monitor{log: log, now: now, latencies: latencies{methods: map[string]*ring{}}}
}

// Running returns a function that reports whether a call with one request was running at any time since the function
// was called last. Streams do not count: a watch lasts as long as its client.
func (m *Monitor) Running() func() bool {
	var seen atomic.Int64
	return func() bool {
		begun := m.begun.Load()
		return seen.Swap(begun) != begun || m.running.Load() > 0
	}
}

// Options are the options that a server with this monitor is made with.
func (m *Monitor) Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newLenientCodec()),
		grpc.UnaryInterceptor(m.unary),
		grpc.StreamInterceptor(m.stream),
		// Somewhat too large requests reach the interceptor, which refuses them in our own words; grpc refuses the
		// rest.
		grpc.MaxRecvMsgSize(2 * memory.MaxMessage),
		grpc.MaxSendMsgSize(4 * memory.MaxMessage),
	}
}

// request is what is known of a request in progress.
type request struct {
	id       string
	method   string
	start    time.Time
	received int // bytes of the messages received
	sent     int // bytes of the messages sent
}

// begin gives a request its id, which responses, errors and the log share.
func (m *Monitor) begin(method string) *request {
	return &request{id: strings.ToLower(rand.Text()[:12]), method: method, start: m.now()}
}

// unary surrounds a call with one request and one response.
func (m *Monitor) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	m.begun.Add(1)
	m.running.Add(1)
	defer m.running.Add(-1)
	r := m.begin(info.FullMethod)
	r.received = size(req)
	var res any
	err := checkSize(r.received)
	concealKey(req)
	if err == nil {
		err = m.guard(r, func() (err error) { res, err = next(ctx, req); return err })
	}
	if err != nil {
		res = nil
	}
	r.sent = size(res)
	// A client that cannot be told the id has gone; its request is logged all the same.
	_ = grpc.SetHeader(ctx, metadata.Pairs("x-request-id", r.id))
	if !isForeign(r.method) {
		m.latencies.add(r.method, m.now().Sub(r.start))
	}
	return res, m.finish(ctx, r, err)
}

// stream surrounds a call with a stream. Its latency is not recorded: a watch lasts as long as its client.
func (m *Monitor) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler) error {
	r := m.begin(info.FullMethod)
	err := m.guard(r, func() error { return next(srv, &countingStream{ServerStream: stream, r: r}) })
	if isForeign(info.FullMethod) {
		return err // statuses of grpc's own services
	}
	return m.finish(stream.Context(), r, err)
}

// guard turns a panic into an error, except one of the store, which ends the process when memories cannot be read.
func (m *Monitor) guard(r *request, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if damage, ok := p.(error); ok && errors.Is(damage, memory.ErrCorrupt) {
				panic(p)
			}
			// Only the type of what was thrown: its text could hold anything.
			err = fmt.Errorf("panic with a %T", p)
			m.log.Error("panic", "request", r.id, "method", r.method, "stack", string(debug.Stack()))
		}
	}()
	return f()
}

// finish logs the request and returns its error as a status.
func (m *Monitor) finish(ctx context.Context, r *request, err error) error {
	took := m.now().Sub(r.start)
	// Health and reflection services answer with statuses of their own.
	if err != nil && isForeign(r.method) {
		return err
	}
	code, level := codes.OK, slog.LevelInfo
	if isForeign(r.method) {
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{slog.String("request", r.id), slog.String("method", r.method)}
	if err != nil {
		st := toStatus(err, r.id)
		if code = st.Code(); code == codes.Internal || code == codes.DataLoss {
			level = slog.LevelError
			attrs = append(attrs, slog.Any("error", err))
		}
		err = st.Err()
	}
	if p, ok := unixsock.FromContext(ctx); ok {
		attrs = append(attrs, slog.Uint64("peer_uid", uint64(p.UID)), slog.Int64("peer_pid", int64(p.PID)))
	}
	if m.observe != nil {
		m.observe(r.method, code.String(), took)
	}
	attrs = append(attrs, slog.String("code", code.String()), slog.Duration("took", took),
		slog.Int("received", r.received), slog.Int("sent", r.sent))
	// Sizes and names only: no text of a memory reaches the log.
	m.log.LogAttrs(context.WithoutCancel(ctx), level, "request", attrs...)
	return err
}

// isForeign reports whether a method is not one of memsidecar's own services.
func isForeign(method string) bool { return !strings.HasPrefix(method, "/memsidecar.") }

// size is the encoded size of a message, 0 for what is none.
func size(message any) int {
	if m, ok := message.(proto.Message); ok {
		return proto.Size(m)
	}
	return 0
}

// checkSize refuses a message over memory.MaxMessage. Error: errTooLarge.
func checkSize(n int) error {
	if n > memory.MaxMessage {
		return fmt.Errorf("%w: it has %d bytes, the limit is %d; send it in parts", errTooLarge, n, memory.MaxMessage)
	}
	return nil
}

// countingStream counts the bytes of a stream and refuses what is too large.
type countingStream struct {
	grpc.ServerStream
	r *request
}

// RecvMsg receives a message and refuses one that is too large. Error: errTooLarge.
func (s *countingStream) RecvMsg(message any) error {
	if err := s.ServerStream.RecvMsg(message); err != nil {
		return err
	}
	n := size(message)
	s.r.received += n
	return checkSize(n)
}

// SendMsg counts and sends a message.
func (s *countingStream) SendMsg(message any) error {
	s.r.sent += size(message)
	return s.ServerStream.SendMsg(message)
}
