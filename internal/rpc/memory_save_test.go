package rpc_test

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// TestSaveReviewAndConsolidate calls everything that decides about texts.
func TestSaveReviewAndConsolidate(t *testing.T) {
	d := start(t)
	review, learning := d.file, d.memory
	known := must[*pb.MemoryServiceAddResponse](t)(
		d.memory.Add(t.Context(), &pb.MemoryServiceAddRequest{
			Items: []*pb.NewMemory{{Id: "m1", Category: "facts", Content: "Alice deploys to port 8080"}}}))
	saved := must[*pb.MemoryServiceSaveResponse](t)(learning.Save(t.Context(), &pb.MemoryServiceSaveRequest{
		HistoryEntry: "Talked of ports", Memories: []*pb.MemoryUpdate{{Id: "m1", Content: "Alice deploys somewhere"}},
		MemoryText: "- We use Postgres 16",
	}))
	if o := saved.GetResult().GetOutcomes(); len(o) != 2 || o[0].GetReason() != "REVIEW_LOST_NUMBER" ||
		o[1].GetStatus() != pb.OutcomeStatus_OUTCOME_STATUS_APPLIED ||
		saved.GetHistory().GetStatus() != pb.OutcomeStatus_OUTCOME_STATUS_APPLIED ||
		saved.GetMemories()[0].GetDecision() != pb.Decision_DECISION_UPDATE {
		t.Fatalf("%v", saved)
	}
	list := must[*pb.FileServiceListProposalsResponse](t)(
		review.ListProposals(t.Context(), &pb.FileServiceListProposalsRequest{AllSpaces: true}))
	if list.GetPending() != 1 || len(list.GetProposals()) != 1 {
		t.Fatalf("%v", list)
	}
	item := list.GetProposals()[0]
	if item.GetTargetId() != "m1" || d.id(item.GetTargetRevision()) != known.GetResult().GetOperationId() ||
		item.GetBefore() != "Alice deploys to port 8080" ||
		item.GetProposed().GetContent() != "Alice deploys somewhere" ||
		item.GetProposedBy() != pb.Decider_DECIDER_RULES ||
		item.GetState() != pb.ProposalState_PROPOSAL_STATE_PENDING || item.GetStale() {
		t.Errorf("%v", item)
	}
	got := must[*pb.FileServiceGetProposalResponse](t)(
		review.GetProposal(t.Context(), &pb.FileServiceGetProposalRequest{Id: item.GetId()}))
	if got.GetCurrent().GetId() != "m1" || got.GetProposal().GetId() != item.GetId() {
		t.Errorf("%v", got)
	}
	accept := &pb.FileServiceResolveProposalRequest{Id: item.GetId(), Resolution: pb.Resolution_RESOLUTION_ACCEPT,
		IdempotencyKey: "k"}
	done := must[*pb.FileServiceResolveProposalResponse](t)(review.ResolveProposal(t.Context(), accept))
	again := must[*pb.FileServiceResolveProposalResponse](t)(review.ResolveProposal(t.Context(), accept))
	if op := done.GetResult().GetOperationId(); op == "" || again.GetResult().GetOperationId() != op ||
		!again.GetResult().GetReplayed() {
		t.Errorf("%v, again %v", done, again)
	}
	if all := must[*pb.FileServiceListProposalsResponse](t)(
		review.ListProposals(t.Context(), &pb.FileServiceListProposalsRequest{
			IncludeResolved: true})); all.GetPending() != 0 ||
		all.GetProposals()[0].GetState() != pb.ProposalState_PROPOSAL_STATE_ACCEPTED ||
		all.GetProposals()[0].GetResolvedAt() == nil {
		t.Errorf("%v", all)
	}
	summary := must[*pb.MemoryServiceRebuildSummaryResponse](t)(
		learning.RebuildSummary(t.Context(), &pb.MemoryServiceRebuildSummaryRequest{}))
	if summary.GetResult().GetOperationId() == "" || summary.GetSummary() == "" {
		t.Errorf("%v", summary)
	}
	waits := must[*pb.MemoryServiceConsolidateResponse](t)(
		d.memory.Consolidate(t.Context(), consolidateText(&pb.ConsolidateText{Content: "The user lives in Oslo",
			Async: true}))).GetItems()[0]
	if !waits.GetPending() || waits.GetId() == "" {
		t.Errorf("%v", waits)
	}
	entries := func(limit int32) *pb.MemoryServiceConsolidateRequest {
		return &pb.MemoryServiceConsolidateRequest{
			Input: &pb.MemoryServiceConsolidateRequest_LogEntries{
				LogEntries: &pb.ConsolidateLogEntries{Limit: limit}},
			IdempotencyKey: fmt.Sprint("entries-", limit),
		}
	}
	pending := must[*pb.MemoryServiceConsolidateResponse](t)(learning.Consolidate(t.Context(), entries(0)))
	if e := pending.GetItems(); len(e) != 1 || e[0].GetEntryId() != waits.GetId() ||
		e[0].GetDecision() != pb.Decision_DECISION_ADD ||
		e[0].GetOperationId() == "" || pending.GetResult().GetOperationId() != e[0].GetOperationId() {
		t.Errorf("%v", pending)
	}
	repeat := must[*pb.MemoryServiceConsolidateResponse](t)(learning.Consolidate(t.Context(), entries(0)))
	if r := repeat.GetResult(); !r.GetReplayed() || r.GetOperationId() != pending.GetResult().GetOperationId() ||
		len(r.GetOutcomes()) != 1 {
		t.Errorf("again %v, want the first result %v", repeat, pending)
	}
	dry := must[*pb.MemoryServiceConsolidateResponse](t)(
		d.memory.Consolidate(t.Context(), &pb.MemoryServiceConsolidateRequest{
			Input: consolidateText(&pb.ConsolidateText{Content: "The user lives in Bergen"}).GetInput(), DryRun: true,
		}))
	if len(dry.GetChanges()) != 1 || dry.GetChanges()[0].GetMemory().GetAfter().GetContent() != "The user lives in Bergen" {
		t.Errorf("%v", dry)
	}

	for _, tt := range []struct {
		name string
		call func() error
		want codes.Code
	}{
		{"unknown item", func() error {
			_, err := review.GetProposal(t.Context(), &pb.FileServiceGetProposalRequest{Id: "nothing"})
			return err
		}, codes.NotFound},
		{"bad space", func() error {
			_, err := review.ListProposals(t.Context(), &pb.FileServiceListProposalsRequest{Space: "Not A Slug"})
			return err
		}, codes.InvalidArgument},
		{"bad space of a decision", func() error {
			_, err := review.ResolveProposal(t.Context(),
				&pb.FileServiceResolveProposalRequest{Space: "Not A Slug", Id: "x",
					Resolution: pb.Resolution_RESOLUTION_ACCEPT})
			return err
		}, codes.InvalidArgument},
		{"nothing to save", func() error {
			_, err := learning.Save(t.Context(), &pb.MemoryServiceSaveRequest{})
			return err
		}, codes.InvalidArgument},
		{"too many entries", func() error {
			_, err := learning.Consolidate(t.Context(), entries(1001))
			return err
		}, codes.InvalidArgument},
		{"not so sure", func() error {
			_, err := d.memory.Consolidate(t.Context(),
				consolidateText(&pb.ConsolidateText{Content: "x", Confidence: new(1.5)}))
			return err
		}, codes.InvalidArgument},
		{"no messages", func() error {
			_, err := d.session.Append(t.Context(), &pb.SessionServiceAppendRequest{SessionId: "s"})
			return err
		}, codes.InvalidArgument},
	} {
		if got := status.Code(tt.call()); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
