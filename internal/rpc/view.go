package rpc

import (
	"context"
	"fmt"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memories"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

type viewServer struct {
	pb.UnsafeViewServiceServer
	memories *memories.Service
}

func (s *viewServer) Apply(ctx context.Context, req *pb.ViewServiceApplyRequest) (*pb.ViewServiceApplyResponse, error) {
	var check memory.Check
	steps := make([]memories.Step, len(req.GetChanges()))
	for i, c := range req.GetChanges() {
		steps[i] = stepFromProto(&check, fmt.Sprintf("changes[%d].", i), c)
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	meta := store.Meta{Space: req.GetSpace(), Actor: journal.ActorView, Reason: req.GetReason()}
	result, err := s.memories.Apply(ctx, meta, steps)
	if err != nil {
		return nil, err
	}
	return &pb.ViewServiceApplyResponse{Result: resultToProto(result)}, nil
}

func stepFromProto(check *memory.Check, prefix string, in *pb.ViewChange) memories.Step {
	switch c := in.GetChange().(type) {
	case *pb.ViewChange_Add:
		return memories.Step{Draft: new(draftFromProto(check, prefix+"add.", c.Add))}
	case *pb.ViewChange_Update:
		check.ID(prefix+"update.id", c.Update.GetId())
		return memories.Step{
			Patch: new(patchFromProto(check, c.Update.GetPatch(), c.Update.GetUpdateMask())),
			ID:    c.Update.GetId(), Expected: c.Update.GetExpectedRevision(),
		}
	case *pb.ViewChange_Removal:
		check.ID(prefix+"removal.id", c.Removal.GetId())
		return memories.Step{ID: c.Removal.GetId(), Expected: c.Removal.GetExpectedRevision()}
	}
	check.Add(prefix+"change", "REQUIRED", "must say what to do")
	return memories.Step{}
}
