package memsidecar

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// Pauses between two tries.
const (
	firstPause = 20 * time.Millisecond
	maxPause   = 500 * time.Millisecond
)

// patient makes calls, and repeats those that may be repeated while no daemon answers.
type patient struct {
	conn     *grpc.ClientConn
	finder   *finder
	patience time.Duration
}

// Invoke makes one call.
func (p *patient) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	request, ok := args.(proto.Message)
	if !ok {
		return p.conn.Invoke(ctx, method, args, reply, opts...)
	}
	request, repeatable := repeatable(method, request)
	ends := time.Now().Add(p.patience)
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := p.conn.Invoke(ctx, method, request, reply, opts...)
		if err == nil {
			return nil
		}
		if !repeatable || status.Code(err) != codes.Unavailable || time.Now().Add(pause).After(ends) {
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

// NewStream opens a stream, which is not repeated: its reader knows where to resume.
func (p *patient) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return p.conn.NewStream(ctx, desc, method, opts...)
}

// repeatable reports whether a request may be sent twice, and returns the request to send: a write that can carry an
// idempotency key carries one.
func repeatable(method string, request proto.Message) (proto.Message, bool) {
	if a, ok := request.(*pb.SessionServiceAppendRequest); ok {
		for _, m := range a.GetMessages() {
			if m.GetSeq() == 0 {
				return request, false
			}
		}
		return request, true
	}
	key := request.ProtoReflect().Descriptor().Fields().ByName("idempotency_key")
	if key == nil {
		return request, reads(method)
	}
	if request.ProtoReflect().Get(key).String() == "" {
		request = proto.Clone(request)
		request.ProtoReflect().Set(key, protoreflect.ValueOfString(uuid.NewString()))
	}
	return request, true
}

// reads reports whether a method changes nothing.
func reads(method string) bool {
	_, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	switch name {
	case "Get", "List", "Search", "Similar", "Recall", "History", "GetRollingSummary", "Stats", "Hot", "Info", "Doctor", "Check",
		"ListRecalls", "ListEdits", "GetEdit":
		return true
	}
	return false
}
