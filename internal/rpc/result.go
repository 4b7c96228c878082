package rpc

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// keyedRequest is a request that carries an idempotency key.
type keyedRequest interface {
	proto.Message
	GetIdempotencyKey() string
}

// writeRequest is what requests to write have in common.
type writeRequest interface {
	keyedRequest
	GetSpace() string
	GetReason() string
	GetSessionId() string
}

// metaOf is the metadata of a write by a client.
func metaOf(req writeRequest) store.Meta {
	return store.Meta{
		Space: req.GetSpace(), Actor: journal.ActorClient, Reason: req.GetReason(), Session: req.GetSessionId(),
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

// result converts the result of a write.
func (e encoder) result(r store.Result) *pb.WriteResult {
	return &pb.WriteResult{
		OperationId: e.operationID(r.Op), Replayed: r.Replayed, Outcomes: outcomesToProto(r.Outcomes),
	}
}

// outcomesToProto converts outcomes, in order.
func outcomesToProto(outcomes []journal.Outcome) []*pb.Outcome {
	out := make([]*pb.Outcome, len(outcomes))
	for i, o := range outcomes {
		out[i] = &pb.Outcome{Id: o.ID, Status: outcomeStatuses[o.Status], Reason: o.Reason,
			Redactions: redactionsToProto(o.Redactions)}
	}
	return out
}

// redactionsToProto converts what was taken out of an item.
func redactionsToProto(list []memory.Redaction) []*pb.Redaction {
	out := make([]*pb.Redaction, len(list))
	for i, r := range list {
		out[i] = &pb.Redaction{Field: r.Field, Kind: r.Kind, Start: int32(r.From), End: int32(r.To)}
	}
	return out
}

// outcomeStatuses names the results of items in messages.
var outcomeStatuses = map[string]pb.OutcomeStatus{
	journal.Applied:   pb.OutcomeStatus_OUTCOME_STATUS_APPLIED,
	journal.Duplicate: pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE,
	journal.Rejected:  pb.OutcomeStatus_OUTCOME_STATUS_REJECTED,
}

// appliedTo is the outcome of a call that wrote one thing.
func appliedTo(id string) []journal.Outcome {
	return []journal.Outcome{{ID: id, Status: journal.Applied}}
}

// spaceOf checks the space of a request that reads.
func spaceOf(check *memory.Check, space string) string {
	space = cmp.Or(space, memory.DefaultSpace)
	check.Slug("space", space)
	return space
}

// checkSpaces checks the names of spaces.
func checkSpaces(check *memory.Check, spaces []string) {
	for i, space := range spaces {
		check.Slug(fmt.Sprintf("spaces[%d]", i), space)
	}
}

// allowed reports whether a value is among those wanted; none means all.
func allowed(wanted []string, value string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, value)
}

// checkDates checks the bounds of days, either of which may be empty.
func checkDates(check *memory.Check, start, end string) {
	for _, bound := range []struct{ field, date string }{{"start_date", start}, {"end_date", end}} {
		if bound.date != "" {
			check.Date(bound.field, bound.date)
		}
	}
}
