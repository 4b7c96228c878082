package rpc_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// TestReviewAndLearning goes through both services as a client does.
func TestReviewAndLearning(t *testing.T) {
	d := start(t)
	review, learning := pb.NewReviewServiceClient(d.conn), pb.NewLearningServiceClient(d.conn)
	known := must[*pb.MemoryServiceAddResponse](t)(d.memory.Add(t.Context(), &pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{{Id: "m1", Category: "facts", Content: "Alice deploys to port 8080"}}}))
	saved := must[*pb.LearningServiceSaveMemoryResponse](t)(learning.SaveMemory(t.Context(), &pb.LearningServiceSaveMemoryRequest{
		HistoryEntry: "Talked of ports", Memories: []*pb.MemoryUpdate{{Id: "m1", Content: "Alice deploys somewhere"}}, MemoryText: "- We use Postgres 16",
	}))
	if o := saved.GetResult().GetOutcomes(); len(o) != 2 || o[0].GetReason() != "REVIEW_LOST_NUMBER" || o[1].GetStatus() != pb.OutcomeStatus_OUTCOME_STATUS_APPLIED ||
		saved.GetHistory().GetStatus() != pb.OutcomeStatus_OUTCOME_STATUS_APPLIED || saved.GetMemories()[0].GetDecision() != pb.Decision_DECISION_UPDATE {
		t.Fatalf("%v", saved)
	}
	list := must[*pb.ReviewServiceListResponse](t)(review.List(t.Context(), &pb.ReviewServiceListRequest{AllSpaces: true}))
	if list.GetPending() != 1 || len(list.GetItems()) != 1 {
		t.Fatalf("%v", list)
	}
	item := list.GetItems()[0]
	if item.GetTargetId() != "m1" || item.GetTargetRevision() != known.GetResult().GetOperation() || item.GetBefore() != "Alice deploys to port 8080" ||
		item.GetProposed().GetContent() != "Alice deploys somewhere" || item.GetProposedBy() != "rules" || item.GetState() != pb.ReviewState_REVIEW_STATE_PENDING || item.GetStale() {
		t.Errorf("%v", item)
	}
	got := must[*pb.ReviewServiceGetResponse](t)(review.Get(t.Context(), &pb.ReviewServiceGetRequest{Id: item.GetId()}))
	if got.GetCurrent().GetId() != "m1" || got.GetItem().GetId() != item.GetId() {
		t.Errorf("%v", got)
	}
	accept := &pb.ReviewServiceResolveRequest{Id: item.GetId(), Accept: true, IdempotencyKey: "k"}
	done := must[*pb.ReviewServiceResolveResponse](t)(review.Resolve(t.Context(), accept))
	again := must[*pb.ReviewServiceResolveResponse](t)(review.Resolve(t.Context(), accept))
	if op := done.GetResult().GetOperation(); op == 0 || again.GetResult().GetOperation() != op || !again.GetResult().GetReplayed() {
		t.Errorf("%v, again %v", done, again)
	}
	if all := must[*pb.ReviewServiceListResponse](t)(review.List(t.Context(), &pb.ReviewServiceListRequest{IncludeResolved: true})); all.GetPending() != 0 ||
		all.GetItems()[0].GetState() != pb.ReviewState_REVIEW_STATE_ACCEPTED || all.GetItems()[0].GetResolvedAt() == nil {
		t.Errorf("%v", all)
	}
	summary := must[*pb.LearningServiceRebuildSummaryResponse](t)(learning.RebuildSummary(t.Context(), &pb.LearningServiceRebuildSummaryRequest{}))
	if summary.GetResult().GetOperation() == 0 || summary.GetSummary() == "" {
		t.Errorf("%v", summary)
	}
	waits := must[*pb.MemoryServiceConsolidateResponse](t)(d.memory.Consolidate(t.Context(), &pb.MemoryServiceConsolidateRequest{Content: "The user lives in Oslo", Wait: new(false)}))
	if !waits.GetPending() || waits.GetId() == "" {
		t.Errorf("%v", waits)
	}
	pending := must[*pb.LearningServiceConsolidatePendingResponse](t)(learning.ConsolidatePending(t.Context(), &pb.LearningServiceConsolidatePendingRequest{}))
	if e := pending.GetEntries(); len(e) != 1 || e[0].GetEntry() != waits.GetId() || e[0].GetDecision() != pb.Decision_DECISION_ADD || e[0].GetOperation() == 0 {
		t.Errorf("%v", pending)
	}
	dry := must[*pb.MemoryServiceConsolidateResponse](t)(d.memory.Consolidate(t.Context(), &pb.MemoryServiceConsolidateRequest{Content: "The user lives in Bergen", DryRun: true}))
	if len(dry.GetChanges()) != 1 || dry.GetChanges()[0].GetMemory().GetAfter().GetContent() != "The user lives in Bergen" {
		t.Errorf("%v", dry)
	}

	for _, tt := range []struct {
		name string
		call func() error
		want codes.Code
	}{
		{"unknown item", func() error {
			_, err := review.Get(t.Context(), &pb.ReviewServiceGetRequest{Id: "nothing"})
			return err
		}, codes.NotFound},
		{"bad space", func() error {
			_, err := review.List(t.Context(), &pb.ReviewServiceListRequest{Space: "Not A Slug"})
			return err
		}, codes.InvalidArgument},
		{"bad space of a decision", func() error {
			_, err := review.Resolve(t.Context(), &pb.ReviewServiceResolveRequest{Space: "Not A Slug", Id: "x"})
			return err
		}, codes.InvalidArgument},
		{"nothing to save", func() error {
			_, err := learning.SaveMemory(t.Context(), &pb.LearningServiceSaveMemoryRequest{})
			return err
		}, codes.InvalidArgument},
		{"too many entries", func() error {
			_, err := learning.ConsolidatePending(t.Context(), &pb.LearningServiceConsolidatePendingRequest{Limit: 1001})
			return err
		}, codes.InvalidArgument},
		{"not so sure", func() error {
			_, err := d.memory.Consolidate(t.Context(), &pb.MemoryServiceConsolidateRequest{Content: "x", Confidence: new(1.5)})
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
