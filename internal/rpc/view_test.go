package rpc_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func TestViewApply(t *testing.T) {
	d := start(t)
	d.add(t, "a", "the port is 8080")
	d.add(t, "b", "tea, please")
	views := pb.NewViewServiceClient(d.conn)
	resp := must[*pb.ViewServiceApplyResponse](t)(views.Apply(t.Context(), &pb.ViewServiceApplyRequest{
		Reason: "MEMORY.md edited: 1 added, 1 changed, 1 removed",
		Changes: []*pb.ViewChange{
			{Change: &pb.ViewChange_Add{Add: &pb.NewMemory{Content: "new", Category: "facts"}}},
			{Change: &pb.ViewChange_Update{Update: &pb.ViewUpdate{Id: "a", ExpectedRevision: 1, Patch: &pb.MemoryPatch{Content: new("the port is 9090")}}}},
			{Change: &pb.ViewChange_Removal{Removal: &pb.ViewRemoval{Id: "b", ExpectedRevision: 1}}},
		},
	})).GetResult()
	applied, rejected := pb.OutcomeStatus_OUTCOME_STATUS_APPLIED, pb.OutcomeStatus_OUTCOME_STATUS_REJECTED
	for i, want := range []pb.OutcomeStatus{applied, applied, rejected} {
		if got := resp.GetOutcomes()[i]; got.GetStatus() != want {
			t.Errorf("outcome %d: %v", i, got)
		}
	}
	if reason := resp.GetOutcomes()[2].GetReason(); reason != "STALE_REVISION" {
		t.Errorf("reason %q", reason)
	}
	op := must[*pb.OperationServiceGetResponse](t)(d.ops.Get(t.Context(), &pb.OperationServiceGetRequest{Number: resp.GetOperation()})).GetOperation()
	if op.GetActor() != "view" || op.GetReason() == "" {
		t.Errorf("operation %v", op)
	}
	for name, req := range map[string]*pb.ViewServiceApplyRequest{
		"no changes":   {},
		"empty change": {Changes: []*pb.ViewChange{{}}},
		"empty patch":  {Changes: []*pb.ViewChange{{Change: &pb.ViewChange_Update{Update: &pb.ViewUpdate{Id: "a"}}}}},
		"no id":        {Changes: []*pb.ViewChange{{Change: &pb.ViewChange_Removal{Removal: &pb.ViewRemoval{}}}}},
	} {
		if _, err := views.Apply(t.Context(), req); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}
