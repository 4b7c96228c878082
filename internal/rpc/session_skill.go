package rpc

import (
	"cmp"
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// RecordSkill stores a workflow. Durable on return.
func (s *sessionServer) RecordSkill(ctx context.Context,
	req *pb.SessionServiceRecordSkillRequest) (*pb.SessionServiceRecordSkillResponse, error) {
	skill := memory.Skill{Name: req.GetName(), When: req.GetWhen()}
	for _, st := range req.GetSteps() {
		skill.Steps = append(skill.Steps, memory.Step{Tool: st.GetTool(), Arguments: st.GetArguments(),
			Note: st.GetNote()})
	}
	meta := metaOf(req)
	meta.Reason = cmp.Or(meta.Reason, "record a skill")
	res, err := s.memories.RecordSkill(ctx, meta, skill)
	if err != nil {
		return nil, err
	}
	return &pb.SessionServiceRecordSkillResponse{Result: s.result(res)}, nil
}
