package rpc

import (
	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Conversions under test.
var (
	MemoryToProto = memoryToProto
	ToStatus      = toStatus
)

// DraftFromProto converts and returns what is wrong.
func DraftFromProto(in *pb.NewMemory) (memorysvc.Draft, error) {
	var check memory.Check
	d := draftFromProto(&check, "", in)
	return d, check.Err()
}

// PagedRequest is a request for one page.
type PagedRequest = pagedRequest

// PageRoundTrip makes a token for one request, sets it in another and returns the key read there.
func PageRoundTrip(made PagedRequest, read func(token string) PagedRequest, key string) (string, error) {
	var check memory.Check
	token := pagingOf(&check, made, 1).token(key)
	got := pagingOf(&check, read(token), 1)
	return got.key, check.Err()
}

// OperationID is the id of an operation of a store.
func OperationID(st *store.Store, number int64) string { return encoder{st}.operationID(number) }
