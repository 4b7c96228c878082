package rpc

import (
	"context"
	"slices"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/recall"
)

func (s *searchServer) Recall(ctx context.Context, req *pb.SearchServiceRecallRequest) (*pb.SearchServiceRecallResponse, error) {
	spaces, err := recallSpaces(req)
	if err != nil {
		return nil, err
	}
	res, err := s.recall.Recall(ctx, recall.Request{
		Text: req.GetText(), Session: req.GetSessionId(), Spaces: spaces, Tokens: int(req.GetMaxTokens()), Items: int(req.GetMaxItems()),
		Explicit: req.GetExplicit(), WorkingTools: req.GetWorkingTools(), FilesRead: req.GetFilesRead(),
	})
	if err != nil {
		return nil, err
	}
	return recallToProto(res), nil
}

// recallSpaces are the spaces that a request names, and that of its project.
func recallSpaces(req *pb.SearchServiceRecallRequest) ([]string, error) {
	spaces := req.GetSpaces()
	if req.GetProjectDirectory() == "" {
		return spaces, nil
	}
	_, project := recall.ProjectOf(req.GetProjectDirectory())
	if project == "" {
		var check memory.Check
		check.Add("project_directory", "NOT_ABSOLUTE", "must be an absolute path")
		return nil, check.Err()
	}
	if len(spaces) == 0 {
		spaces = []string{memory.DefaultSpace}
	}
	return append(slices.Clone(spaces), project), nil
}

func recallToProto(r *recall.Result) *pb.SearchServiceRecallResponse {
	out := &pb.SearchServiceRecallResponse{Block: r.Block, Tokens: int32(r.Tokens), Language: r.Language, Reason: r.Reason}
	for _, it := range r.Items {
		out.Items = append(out.Items, &pb.RecalledMemory{
			Memory: memoryToProto(it.Memory), Space: it.Space, Score: it.Score, Tool: it.Tool, Text: it.Text, Clipped: it.Clipped,
			Age: it.Age, Caveat: it.Caveat, Selected: it.Selected,
		})
	}
	return out
}

func (s *searchServer) ListRecalls(_ context.Context, req *pb.SearchServiceListRecallsRequest) (*pb.SearchServiceListRecallsResponse, error) {
	var check memory.Check
	limit := pageSize(&check, "max_results", req.GetMaxResults(), defaultRecalls)
	if err := check.Err(); err != nil {
		return nil, err
	}
	out := &pb.SearchServiceListRecallsResponse{}
	for _, t := range s.recall.Traces(recall.TraceFilter{Session: req.GetSessionId(), Memory: req.GetMemoryId(), Limit: limit}) {
		one := &pb.RecallTrace{At: timeToProto(t.At), SessionId: t.Session, Query: t.Query, Explicit: t.Explicit}
		for _, m := range t.Memories {
			one.Memories = append(one.Memories, &pb.TracedMemory{Space: m.Space, Id: m.ID, Score: m.Score})
		}
		out.Recalls = append(out.Recalls, one)
	}
	return out, nil
}

// defaultRecalls is the number of recalls that are listed when none is asked for.
const defaultRecalls = 100
