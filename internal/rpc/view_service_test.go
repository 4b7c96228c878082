package rpc_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
)

func TestViewApply(t *testing.T) {
	d := start(t)
	d.add(t, "a", "the port is 8080")
	d.add(t, "b", "tea, please")
	views := pbalpha.NewViewServiceClient(d.conn)
	resp := must[*pbalpha.ViewServiceApplyResponse](t)(views.Apply(t.Context(), &pbalpha.ViewServiceApplyRequest{
		Reason: "MEMORY.md edited: 1 added, 1 changed, 1 removed",
		Changes: []*pbalpha.ViewChange{
			{Change: &pbalpha.ViewChange_Add{Add: &pb.NewMemory{Content: "new", Category: "facts"}}},
			{Change: &pbalpha.ViewChange_Update{
				Update: &pbalpha.ViewUpdate{Id: "a", ExpectedRevision: 1,
					Patch: &pb.MemoryPatch{Content: new("the port is 9090")}}}},
			{Change: &pbalpha.ViewChange_Removal{Removal: &pbalpha.ViewRemoval{Id: "b", ExpectedRevision: 1}}},
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
	op := must[*pb.OperationServiceGetResponse](t)(
		d.ops.Get(t.Context(), &pb.OperationServiceGetRequest{Id: resp.GetOperationId()})).GetOperation()
	if op.GetActor() != pb.Actor_ACTOR_VIEW || op.GetReason() == "" {
		t.Errorf("operation %v", op)
	}
	byClient := must[*pbalpha.ViewServiceApplyResponse](t)(views.Apply(t.Context(), &pbalpha.ViewServiceApplyRequest{
		Actor: pb.Actor_ACTOR_CLIENT,
		Changes: []*pbalpha.ViewChange{
			{Change: &pbalpha.ViewChange_Removal{Removal: &pbalpha.ViewRemoval{Id: "b"}}},
		},
	})).GetResult()
	op = must[*pb.OperationServiceGetResponse](t)(
		d.ops.Get(t.Context(), &pb.OperationServiceGetRequest{Id: byClient.GetOperationId()})).GetOperation()
	if op.GetActor() != pb.Actor_ACTOR_CLIENT {
		t.Errorf("operation %v", op)
	}
	for name, req := range map[string]*pbalpha.ViewServiceApplyRequest{
		"foreign actor": {Actor: pb.Actor_ACTOR_REFLECT, Changes: []*pbalpha.ViewChange{
			{Change: &pbalpha.ViewChange_Removal{Removal: &pbalpha.ViewRemoval{Id: "a"}}}}},
		"no changes":   {},
		"empty change": {Changes: []*pbalpha.ViewChange{{}}},
		"empty patch": {Changes: []*pbalpha.ViewChange{
			{Change: &pbalpha.ViewChange_Update{Update: &pbalpha.ViewUpdate{Id: "a"}}}}},
		"no id": {Changes: []*pbalpha.ViewChange{
			{Change: &pbalpha.ViewChange_Removal{Removal: &pbalpha.ViewRemoval{}}}}},
	} {
		if _, err := views.Apply(t.Context(), req); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}
