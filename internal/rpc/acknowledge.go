package rpc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
)

// longestAwait bounds how long a reply waits for the log of a shared space when the client gave no deadline. A client
// with a deadline is told a little before it, while it still listens.
const (
	longestAwait = 30 * time.Second
	tellBefore   = 250 * time.Millisecond
)

// sessionPrefix begins the methods of SessionService.
const sessionPrefix = "/memsidecar.v1.SessionService/"

// acknowledger has the replies to writes on shared spaces wait for the log, where that was chosen. It is the only place
// that waits: whatever a request wrote, the store has noted it in the request's context.
type acknowledger struct {
	share *share.Service
	now   func() time.Time
}

// Acknowledge are the options of a server whose replies wait for the logs of shared spaces. They follow those of a
// Monitor.
func Acknowledge(shared *share.Service, now func() time.Time) []grpc.ServerOption {
	a := &acknowledger{shared, now}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(a.unary), grpc.ChainStreamInterceptor(a.stream)}
}

// unary surrounds a call with one request and one response.
func (a *acknowledger) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any,
	error) {
	minimum, _ := req.(interface{ GetMinPositions() []string })
	if reads := minimum != nil && len(minimum.GetMinPositions()) > 0; !reads && (isForeign(info.FullMethod) || !a.share.Active()) {
		return next(ctx, req)
	}
	strict, err := a.reach(ctx, minimum)
	if err != nil {
		return nil, err
	}
	key := a.giveKey(info.FullMethod, req)
	noted, writes := store.NoteWrites(ctx, a.share.Allow)
	res, err := next(noted, req)
	if err != nil {
		return nil, err
	}
	if err := a.await(ctx, writes, key); err != nil {
		return nil, err
	}
	// What was read may be newer than the log: nobody else would see it yet.
	if len(strict) > 0 {
		bounded, cancel := a.bound(ctx)
		defer cancel()
		if err := a.share.AwaitAll(bounded, strict); err != nil {
			return nil, err
		}
	}
	a.setPositions(req, res, writes, strict)
	return res, nil
}

// maxPositions bounds the positions of a request.
const maxPositions = 16

// reach waits for the positions that a read asks for, and returns the spaces of which it must show nothing that the log
// does not have.
func (a *acknowledger) reach(ctx context.Context, req interface{ GetMinPositions() []string }) ([]string, error) {
	if req == nil || len(req.GetMinPositions()) == 0 {
		return nil, nil
	}
	if n := len(req.GetMinPositions()); n > maxPositions {
		var check memory.Check
		check.Add("min_positions", "TOO_MANY", "has %d items, the limit is %d", n, maxPositions)
		return nil, check.Err()
	}
	ctx, cancel := a.bound(ctx)
	defer cancel()
	return a.share.Reach(ctx, req.GetMinPositions())
}

// setPositions says in a response what this machine knows of the shared spaces that the request was about. In the
// strict ones it read only what the log has.
func (a *acknowledger) setPositions(req, res any, writes *store.Writes, strict []string) {
	if elsewhere, ok := req.(interface{ GetMirror() bool }); ok && elsewhere.GetMirror() {
		return
	}
	var names []string
	switch req := req.(type) {
	case interface{ GetSpaces() []string }:
		if names = slices.Clone(req.GetSpaces()); len(names) == 0 {
			names = []string{memory.DefaultSpace}
		}
	case interface{ GetSpace() string }:
		names = []string{cmp.Or(req.GetSpace(), memory.DefaultSpace)}
	}
	for _, w := range writes.List() {
		names = append(names, w.Space)
	}
	written, isWrite := res.(interface{ GetResult() *pb.WriteResult })
	var positions []string
	for _, name := range names {
		committed := isWrite && a.share.WaitsForLog(name) || slices.Contains(strict, name)
		if p := a.share.Position(name, committed); p != "" && !slices.Contains(positions, p) {
			positions = append(positions, p)
		}
	}
	if isWrite && written.GetResult() != nil {
		written.GetResult().Positions = positions
	}
	switch res := res.(type) {
	case *pb.MemoryServiceGetResponse:
		res.Positions = positions
	case *pb.MemoryServiceListResponse:
		res.Positions = positions
	case *pb.SearchServiceSearchResponse:
		res.Positions = positions
	case *pb.SearchServiceRecallResponse:
		res.Positions = positions
	}
}

// stream surrounds a call with a stream. What was written before a response is in the log when the response is sent.
func (a *acknowledger) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler) error {
	if isForeign(info.FullMethod) || !a.share.Active() {
		return next(srv, stream)
	}
	ctx, writes := store.NoteWrites(stream.Context(), a.share.Allow)
	return next(srv, &awaitingStream{ServerStream: stream, a: a, ctx: ctx, writes: writes, method: info.FullMethod})
}

// awaitingStream is a stream whose responses wait.
type awaitingStream struct {
	grpc.ServerStream
	a      *acknowledger
	ctx    context.Context //nolint:containedctx // a stream has one
	writes *store.Writes
	method string
	first  any // request
	key    string
}

// Context is the context of the stream, with what notes its writes.
func (s *awaitingStream) Context() context.Context { return s.ctx }

// RecvMsg receives a request. The first one gets a key when it has none.
func (s *awaitingStream) RecvMsg(message any) error {
	if err := s.ServerStream.RecvMsg(message); err != nil {
		return err
	}
	if s.first == nil {
		s.key, s.first = s.a.giveKey(s.method, message), message
	}
	return nil
}

// SendMsg waits and sends a response. Error: *memory.OutcomeUnknownError.
func (s *awaitingStream) SendMsg(message any) error {
	if err := s.a.await(s.ServerStream.Context(), s.writes, s.key); err != nil {
		return err
	}
	s.a.setPositions(s.first, message, s.writes, nil)
	return s.ServerStream.SendMsg(message)
}

// giveKey returns the idempotency key of a request. One that may write to a space whose replies wait gets one if it has
// none: otherwise the client could not repeat it when its outcome is unknown. Of the calls on sessions only Reflect
// writes what is shared.
func (a *acknowledger) giveKey(method string, req any) string {
	keyed, ok := req.(keyedRequest)
	if !ok {
		return ""
	}
	if key := keyed.GetIdempotencyKey(); key != "" {
		return key
	}
	if strings.HasPrefix(method, sessionPrefix) && method != pb.SessionService_Reflect_FullMethodName {
		return ""
	}
	name := "" // any
	if in, ok := req.(interface{ GetSpace() string }); ok {
		name = in.GetSpace()
	}
	if !a.share.WaitsForLog(name) {
		return ""
	}
	key := store.NewID()
	m := keyed.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("idempotency_key"), protoreflect.ValueOfString(key))
	return key
}

// await waits until the log has what was written.
func (a *acknowledger) await(ctx context.Context, writes *store.Writes, key string) error {
	list := writes.List()
	if len(list) == 0 {
		return nil
	}
	ctx, cancel := a.bound(ctx)
	defer cancel()
	return a.share.Await(ctx, list, key)
}

// bound is a context that ends a little before the client's deadline.
func (a *acknowledger) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := longestAwait
	if deadline, ok := ctx.Deadline(); ok {
		left := deadline.Sub(a.now())
		limit = min(limit, left-min(left/4, tellBefore))
	}
	return context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("it did not answer within %v: %w", limit.Round(time.Millisecond), context.DeadlineExceeded))
}
