package rpc_test

import (
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// bytesCodec sends bytes as they are, under the name of the codec that the server uses.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (bytesCodec) Name() string                       { return "proto" }

// TestMalformedProtobuf: bytes that are no message are the client's fault, in unary calls and in streams.
func TestMalformedProtobuf(t *testing.T) {
	d := start(t)
	garbage, answer := []byte{0x0a, 0xff, 0xff, 0xff, 0x0f, 'x'}, []byte{}
	codec := grpc.ForceCodec(bytesCodec{})
	for _, method := range []string{pb.MemoryService_Add_FullMethodName, pb.SearchService_Search_FullMethodName} {
		err := d.conn.Invoke(t.Context(), method, &garbage, &answer, codec)
		if status.Code(err) != codes.InvalidArgument || len(status.Convert(err).Details()) == 0 {
			t.Errorf("%s: %v %v", method, err, status.Convert(err).Details())
		}
	}
	stream, err := d.conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		pb.AdminService_Export_FullMethodName, codec)
	if err == nil {
		err = stream.SendMsg(&garbage)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err == nil {
		err = stream.RecvMsg(&answer)
	}
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("stream: %v", err)
	}
}

// TestYears: a time before 1970 is refused, and so is one after 9999.
func TestYears(t *testing.T) {
	d := start(t)
	for year, want := range map[int]codes.Code{1969: codes.InvalidArgument, 1: codes.InvalidArgument, 1970: codes.OK,
		10000: codes.InvalidArgument} {
		at := &timestamppb.Timestamp{Seconds: time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC).Unix()}
		_, err := d.log.Append(t.Context(), &pb.LogServiceAppendRequest{Entries: []*pb.NewLogEntry{{Content: "x", At: at}}})
		if status.Code(err) != want {
			t.Errorf("%d: %v", year, err)
		}
	}
}
