package rpc

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memories"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Conversions under test.
var (
	MemoryToProto = memoryToProto
	ToStatus      = toStatus
)

// DraftFromProto converts and returns what is wrong.
func DraftFromProto(in *pb.NewMemory) (memories.Draft, error) {
	var check memory.Check
	d := draftFromProto(&check, "", in)
	return d, check.Err()
}

// PageRoundTrip makes a token for one request and reads it for another.
func PageRoundTrip(made, read proto.Message, key string) (string, error) {
	var check memory.Check
	got := pageKey(&check, read, pageToken(made, key))
	return got, check.Err()
}
