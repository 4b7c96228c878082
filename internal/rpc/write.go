package rpc

import (
	"cmp"

	"google.golang.org/protobuf/proto"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// writeRequest is what requests to write have in common.
type writeRequest interface {
	proto.Message
	GetSpace() string
	GetIdempotencyKey() string
	GetReason() string
	GetSession() string
}

func metaOf(req writeRequest) store.Meta {
	return store.Meta{
		Space: req.GetSpace(), Actor: journal.ActorClient, Reason: req.GetReason(), Session: req.GetSession(),
		Key: req.GetIdempotencyKey(), Request: identify(req, req.GetIdempotencyKey()),
	}
}

// identify returns the bytes that make a request another one than before under the same idempotency key.
func identify(req proto.Message, key string) []byte {
	if key == "" {
		return nil
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return nil // it was received, so it can be sent
	}
	return append([]byte(req.ProtoReflect().Descriptor().FullName()+"\x00"), data...)
}

func resultToProto(r store.Result) *pb.WriteResult {
	return &pb.WriteResult{Operation: r.Op, Replayed: r.Replayed, Outcomes: outcomesToProto(r.Outcomes)}
}

func outcomesToProto(outcomes []journal.Outcome) []*pb.Outcome {
	out := make([]*pb.Outcome, len(outcomes))
	for i, o := range outcomes {
		out[i] = &pb.Outcome{Id: o.ID, Status: outcomeStatuses[o.Status], Reason: o.Reason}
	}
	return out
}

var outcomeStatuses = map[string]pb.OutcomeStatus{
	journal.Applied:   pb.OutcomeStatus_OUTCOME_STATUS_APPLIED,
	journal.Duplicate: pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE,
	journal.Rejected:  pb.OutcomeStatus_OUTCOME_STATUS_REJECTED,
}

// spaceOf checks the space of a request that reads.
func spaceOf(check *memory.Check, space string) string {
	space = cmp.Or(space, memory.DefaultSpace)
	check.Slug("space", space)
	return space
}

// pageSize checks the number of items asked for; 0 is standard.
func pageSize(check *memory.Check, field string, n int32, standard int) int {
	if n < 0 || n > memory.MaxPage {
		check.Add(field, "OUT_OF_RANGE", "must be 1 to %d", memory.MaxPage)
	}
	return cmp.Or(int(n), standard)
}
