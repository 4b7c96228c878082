package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memories"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/recall"
	"github.com/memsidecar/memsidecar/internal/store"
)

type procedureServer struct {
	pb.UnsafeProcedureServiceServer
	recall   *recall.Service
	memories *memories.Service
}

func (s *procedureServer) Hint(ctx context.Context, req *pb.ProcedureServiceHintRequest) (*pb.ProcedureServiceHintResponse, error) {
	res, err := s.recall.Hint(ctx, recall.HintRequest{
		Tool: req.GetTool(), Arguments: req.GetArguments(), Session: req.GetSessionId(), Spaces: req.GetSpaces(),
	})
	if err != nil {
		return nil, err
	}
	told := recallToProto(res)
	return &pb.ProcedureServiceHintResponse{Rules: told.GetItems(), Block: told.GetBlock(), Tokens: told.GetTokens(), Reason: told.GetReason()}, nil
}

func (s *procedureServer) RecordSkill(ctx context.Context, req *pb.ProcedureServiceRecordSkillRequest) (*pb.ProcedureServiceRecordSkillResponse, error) {
	skill := memory.Skill{Name: req.GetName(), When: req.GetWhen()}
	for _, st := range req.GetSteps() {
		skill.Steps = append(skill.Steps, memory.Step{Tool: st.GetTool(), Arguments: st.GetArguments(), Note: st.GetNote()})
	}
	res, err := s.memories.RecordSkill(ctx, store.Meta{
		Space: req.GetSpace(), Actor: journal.ActorClient, Session: req.GetSessionId(), Reason: "record a skill",
		Key: req.GetIdempotencyKey(), Request: identify(req, req.GetIdempotencyKey()),
	}, skill)
	if err != nil {
		return nil, err
	}
	return &pb.ProcedureServiceRecordSkillResponse{Result: resultToProto(res)}, nil
}
