package rpc_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func TestWorkingMemory(t *testing.T) {
	d := start(t)
	working := pb.NewSessionServiceClient(d.conn)
	dir := t.TempDir()
	summary := "Step 3 of 5 is done."
	updated := must[*pb.SessionServiceUpdateWorkingMemoryResponse](t)(working.UpdateWorkingMemory(t.Context(),
		&pb.SessionServiceUpdateWorkingMemoryRequest{
			SessionId: "s", RunDirectory: &dir, Summary: &summary, Compacted: true, FilesRead: []string{"a.go"},
			ToolsUsed: []string{"Bash", "Bash"},
		}))
	w := updated.GetWorking()
	if updated.GetResult().GetOperationId() == "" || w.GetRunDirectory() != dir || w.GetSummary() != summary ||
		w.GetCompactions() != 1 ||
		len(w.GetFilesRead()) != 1 || w.GetFilesRead()[0] != dir+"/a.go" || w.GetTools()[0].GetCount() != 2 ||
		w.GetRecentTools()[0] != "Bash" {
		t.Errorf("Update = %v", updated)
	}
	got := must[*pb.SessionServiceGetWorkingMemoryResponse](t)(
		working.GetWorkingMemory(t.Context(), &pb.SessionServiceGetWorkingMemoryRequest{SessionId: "s"}))
	if !strings.Contains(got.GetBlock(), summary) || got.GetWorking().GetSummaryAt() == nil {
		t.Errorf("Get = %v", got)
	}
	recalled := must[*pb.SearchServiceRecallResponse](t)(
		d.search.Recall(t.Context(), &pb.SearchServiceRecallRequest{Text: "x", SessionId: "s"}))
	if !strings.Contains(recalled.GetBlock(), summary) || len(recalled.GetItems()) != 0 || recalled.GetTokens() == 0 {
		t.Errorf("Recall = %v", recalled)
	}
	// The frozen context stays what it is; what the agent wrote down stands beside it, as it is now.
	start := &pb.SessionServiceStartRequest{SessionId: "s", Context: &pb.ContextOptions{}}
	d.add(t, "port", "The staging gateway listens on port 8443.")
	first := must[*pb.SessionServiceStartResponse](t)(d.session.Start(t.Context(), start))
	later := "Step 4 of 5 is done."
	must[*pb.SessionServiceUpdateWorkingMemoryResponse](t)(working.UpdateWorkingMemory(t.Context(),
		&pb.SessionServiceUpdateWorkingMemoryRequest{SessionId: "s", Summary: &later}))
	second := must[*pb.SessionServiceStartResponse](t)(d.session.Start(t.Context(), start))
	if first.GetContext() == "" || first.GetContext() != second.GetContext() ||
		!strings.Contains(first.GetWorkingBlock(), summary) || !strings.Contains(second.GetWorkingBlock(), later) {
		t.Errorf("Start = %v, then %v", first, second)
	}
	path := must[*pb.SessionServiceResolvePathResponse](t)(
		working.ResolvePath(t.Context(), &pb.SessionServiceResolvePathRequest{SessionId: "s", Path: "./x"}))
	if path.GetPath() != dir+"/x" || path.GetRelativePath() != "x" || path.GetOutside() {
		t.Errorf("ResolvePath = %v", path)
	}
	for name, want := range map[string]struct {
		err  func() error
		code codes.Code
	}{
		"outside": {func() error {
			_, err := working.ResolvePath(t.Context(),
				&pb.SessionServiceResolvePathRequest{SessionId: "s", Path: "../x"})
			return err
		}, codes.InvalidArgument},
		"unknown": {func() error {
			_, err := working.GetWorkingMemory(t.Context(),
				&pb.SessionServiceGetWorkingMemoryRequest{SessionId: "unknown"})
			return err
		}, codes.NotFound},
		"paused": {func() error {
			*d.paused = true
			_, err := working.UpdateWorkingMemory(t.Context(),
				&pb.SessionServiceUpdateWorkingMemoryRequest{SessionId: "s", Compacted: true})
			*d.paused = false
			return err
		}, codes.FailedPrecondition},
	} {
		if err := want.err(); status.Code(err) != want.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}
