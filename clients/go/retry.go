package memsidecar

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/memsidecar/memsidecar/clients/go/gen/memsidecar/v1"
)

// Pauses between two attempts; they double.
const (
	firstPause = 20 * time.Millisecond
	maxPause   = 500 * time.Millisecond
)

// retrier is a grpc.ClientConnInterface that retries calls while no daemon answers, where that is safe.
type retrier struct {
	conn     *grpc.ClientConn
	finder   *finder
	patience time.Duration
}

// Invoke makes a call. It retries within the patience and starts the daemon between attempts.
func (p *retrier) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	request, ok := args.(proto.Message)
	if !ok {
		return p.conn.Invoke(ctx, method, args, reply, opts...)
	}
	request, again := retryable(method, request)
	ends := time.Now().Add(p.patience)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := p.conn.Invoke(ctx, method, request, reply, opts...)
		if err == nil {
			return nil
		}
		if !again || status.Code(err) != codes.Unavailable || time.Now().Add(pause).After(ends) {
			return errorOf(err)
		}
		select {
		case <-ctx.Done():
			return errorOf(err)
		case <-time.After(pause):
		}
		p.finder.restart(ctx)
		p.conn.ResetConnectBackoff()
	}
}

// NewStream opens a stream. Streams are not retried: their readers know where to resume.
func (p *retrier) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return p.conn.NewStream(ctx, desc, method, opts...)
}

// retryable reports whether a request may be sent twice, and returns the request to send: a copy with an idempotency
// key if the request can carry one and has none. Messages with sequence numbers need no key: a session records each
// number once.
func retryable(method string, request proto.Message) (proto.Message, bool) {
	if a, ok := request.(*pb.SessionServiceAppendRequest); ok && numbered(a.GetMessages()) {
		return request, true
	}
	key := request.ProtoReflect().Descriptor().Fields().ByName("idempotency_key")
	if key == nil {
		return request, readOnly(method)
	}
	if request.ProtoReflect().Get(key).String() == "" {
		request = proto.Clone(request)
		request.ProtoReflect().Set(key, protoreflect.ValueOfString(rand.Text()))
	}
	return request, true
}

// numbered reports whether all messages have sequence numbers.
func numbered(messages []*pb.SessionMessage) bool {
	return !slices.ContainsFunc(messages, func(m *pb.SessionMessage) bool { return m.GetSeq() == 0 })
}

// readOnly reports whether a method changes nothing.
func readOnly(method string) bool {
	_, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	switch name {
	case "Get", "List", "Search", "Similar", "Recall", "Hint", "Hot", "History", "GetSummary", "Stats", "Info", "Doctor",
		"Check", "ListRecalls", "ListMessages", "GetWorkingMemory", "ResolvePath", "ListEdits", "GetEdit",
		"ListProposals", "GetProposal":
		return true
	}
	return false
}
