package rpc

import (
	"context"
	"slices"
	"strconv"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// Recall returns memories for a prompt. It writes nothing to the store while the caller waits.
func (s *searchServer) Recall(ctx context.Context, req *pb.SearchServiceRecallRequest) (*pb.SearchServiceRecallResponse,
	error) {
	spaces, err := recallSpaces(req)
	if err != nil {
		return nil, err
	}
	res, err := s.recall.Recall(ctx, recall.Request{
		Text: req.GetText(), Session: req.GetSessionId(), Spaces: spaces, Tokens: int(req.GetTokenBudget()),
		Items:    int(req.GetLimit()),
		Explicit: req.GetExplicit(), WorkingTools: req.GetWorkingTools(), FilesRead: req.GetFilesRead(),
		FailedTool: toolCallFromProto(req.GetFailedTool()),
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

// languages names the languages of blocks in messages.
var languages = map[string]pb.Language{
	"":   pb.Language_LANGUAGE_UNSPECIFIED,
	"en": pb.Language_LANGUAGE_EN,
	"zh": pb.Language_LANGUAGE_ZH,
}

// recallToProto converts a recall or a hint. Its size is bounded by the token budget and the number of memories.
func recallToProto(r *recall.Result) *pb.SearchServiceRecallResponse {
	out := &pb.SearchServiceRecallResponse{Block: r.Block, Tokens: int32(r.Tokens), Language: languages[r.Language],
		Reason: r.Reason}
	for _, it := range r.Items {
		out.Items = append(out.Items, &pb.RecalledMemory{
			Memory: memoryToProto(it.Memory), Space: it.Space, Score: it.Score, Tool: it.Tool, Text: it.Text,
			Truncated: it.Clipped, Strength: strengths[it.Strength],
			Age: it.Age, Caveat: it.Caveat, SelectedByModel: it.Selected,
		})
	}
	return out
}

// ListRecalls returns a page of the recalls since the daemon started; the newest 1,024 are kept.
func (s *searchServer) ListRecalls(_ context.Context,
	req *pb.SearchServiceListRecallsRequest) (*pb.SearchServiceListRecallsResponse, error) {
	var check memory.Check
	paging := pagingOf(&check, req, defaultRecalls)
	if err := check.Err(); err != nil {
		return nil, err
	}
	traces := s.recall.Traces(recall.TraceFilter{Session: req.GetSessionId(), Memory: req.GetMemoryId()})
	res := &pb.SearchServiceListRecallsResponse{}
	res.Recalls, res.NextPageToken = pageOf(paging, traces, traceID, traceToProto)
	return res, nil
}

// traceID tells recalls apart: new ones come before the page that a token continues.
func traceID(t recall.Trace) string { return strconv.FormatInt(t.At.UnixNano(), 36) + " " + t.Session }

// traceToProto converts the record of a recall.
func traceToProto(t recall.Trace) *pb.RecallTrace {
	out := &pb.RecallTrace{At: timeToProto(t.At), SessionId: t.Session, Query: t.Query, Explicit: t.Explicit}
	for _, m := range t.Memories {
		out.Memories = append(out.Memories, &pb.TracedMemory{Space: m.Space, Id: m.ID, Score: m.Score})
	}
	return out
}
