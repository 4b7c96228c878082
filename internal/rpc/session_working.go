package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/session"
)

// GetWorkingMemory returns the working memory of a session; it is empty when the session has ended. Error:
// memory.ErrNotFound.
func (s *sessionServer) GetWorkingMemory(_ context.Context,
	req *pb.SessionServiceGetWorkingMemoryRequest) (*pb.SessionServiceGetWorkingMemoryResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	check.ID("session_id", req.GetSessionId())
	if err := check.Err(); err != nil {
		return nil, err
	}
	header, err := s.sessions.Get(space, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	if header.State != memory.SessionOpen {
		return &pb.SessionServiceGetWorkingMemoryResponse{Working: &pb.WorkingMemory{}}, nil
	}
	w, err := s.sessions.Working(space, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	return &pb.SessionServiceGetWorkingMemoryResponse{Working: workingToProto(w), Block: s.recall.WorkingBlock(w)}, nil
}

// UpdateWorkingMemory records news of a session. Durable on return. Error: memory.ErrPaused.
func (s *sessionServer) UpdateWorkingMemory(ctx context.Context,
	req *pb.SessionServiceUpdateWorkingMemoryRequest) (*pb.SessionServiceUpdateWorkingMemoryResponse, error) {
	w, result, err := s.sessions.UpdateWorking(ctx, session.WorkingUpdate{
		Space: req.GetSpace(), ID: req.GetSessionId(), Dir: req.GetRunDirectory(), Summary: req.Summary,
		Compacted: req.GetCompacted(),
		Files:     req.GetFilesRead(), Tools: req.GetToolsUsed(), Key: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	return &pb.SessionServiceUpdateWorkingMemoryResponse{Result: s.result(result), Working: workingToProto(w)}, nil
}

// ResolvePath resolves a path in a session. It follows links only to see whether they lead outside. Error:
// memory.ErrNotFound.
func (s *sessionServer) ResolvePath(_ context.Context,
	req *pb.SessionServiceResolvePathRequest) (*pb.SessionServiceResolvePathResponse, error) {
	p, err := s.sessions.ResolvePath(req.GetSpace(), req.GetSessionId(), req.GetPath(), req.GetAllowOutside())
	if err != nil {
		return nil, err
	}
	return &pb.SessionServiceResolvePathResponse{Path: p.Full, RelativePath: p.Relative, Outside: p.Outside}, nil
}

// workingToProto converts a working memory.
func workingToProto(w *memory.Working) *pb.WorkingMemory {
	out := &pb.WorkingMemory{
		RunDirectory: w.Dir, RecentTools: w.Recent, FilesRead: w.Files, Summary: w.Summary,
		SummaryAt:   timeToProto(w.SummaryAt),
		Compactions: int32(w.Compactions),
	}
	for _, t := range w.Tools {
		out.Tools = append(out.Tools, &pb.ToolUse{Name: t.Name, Count: t.Count, Failures: t.Failures})
	}
	return out
}
