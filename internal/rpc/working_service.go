package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/recall"
	"github.com/memsidecar/memsidecar/internal/session"
)

type workingServer struct {
	pb.UnsafeWorkingMemoryServiceServer
	sessions *session.Service
	recall   *recall.Service
}

func (s *workingServer) Get(_ context.Context, req *pb.WorkingMemoryServiceGetRequest) (*pb.WorkingMemoryServiceGetResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	check.ID("session_id", req.GetSessionId())
	if err := check.Err(); err != nil {
		return nil, err
	}
	w, err := s.sessions.Working(space, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	return &pb.WorkingMemoryServiceGetResponse{Working: workingToProto(w), Block: s.recall.WorkingBlock(w)}, nil
}

func (s *workingServer) Update(ctx context.Context, req *pb.WorkingMemoryServiceUpdateRequest) (*pb.WorkingMemoryServiceUpdateResponse, error) {
	w, op, err := s.sessions.UpdateWorking(ctx, session.WorkingUpdate{
		Space: req.GetSpace(), ID: req.GetSessionId(), Dir: req.GetRunDirectory(), Summary: req.Summary, Compacted: req.GetCompacted(),
		Files: req.GetFilesRead(), Tools: req.GetToolsUsed(), Key: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	result := &pb.WriteResult{Operation: op, Outcomes: outcomesToProto([]journal.Outcome{{ID: req.GetSessionId(), Status: journal.Applied}})}
	return &pb.WorkingMemoryServiceUpdateResponse{Result: result, Working: workingToProto(w)}, nil
}

func (s *workingServer) ResolvePath(_ context.Context, req *pb.WorkingMemoryServiceResolvePathRequest) (*pb.WorkingMemoryServiceResolvePathResponse, error) {
	p, err := s.sessions.ResolvePath(req.GetSpace(), req.GetSessionId(), req.GetPath(), req.GetAllowOutside())
	if err != nil {
		return nil, err
	}
	return &pb.WorkingMemoryServiceResolvePathResponse{Path: p.Full, Relative: p.Relative, Outside: p.Outside}, nil
}

func workingToProto(w *memory.Working) *pb.WorkingMemory {
	out := &pb.WorkingMemory{
		RunDirectory: w.Dir, RecentTools: w.Recent, FilesRead: w.Files, Summary: w.Summary, SummaryAt: timeToProto(w.SummaryAt),
		Compactions: int32(w.Compactions),
	}
	for _, t := range w.Tools {
		out.Tools = append(out.Tools, &pb.ToolUse{Name: t.Name, Count: t.Count, Failures: t.Failures})
	}
	return out
}
