package rpc

import (
	"context"
	"fmt"

	pbv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// viewServer serves ViewService of memsidecar.v1alpha1.
type viewServer struct {
	pb.UnsafeViewServiceServer
	encoder
	memories *memorysvc.Service
}

// viewActors are those who make changes by Apply.
var viewActors = map[pbv1.Actor]string{
	pbv1.Actor_ACTOR_UNSPECIFIED: journal.ActorView,
	pbv1.Actor_ACTOR_VIEW:        journal.ActorView,
	pbv1.Actor_ACTOR_CLIENT:      journal.ActorClient,
}

// Apply makes the changes of a view in one operation. Durable on return.
func (s *viewServer) Apply(ctx context.Context, req *pb.ViewServiceApplyRequest) (*pb.ViewServiceApplyResponse, error) {
	var check memory.Check
	actor, ok := viewActors[req.GetActor()]
	if !ok {
		check.Add("actor", "UNKNOWN_VALUE", "is neither view nor client")
	}
	steps := make([]memorysvc.Step, len(req.GetChanges()))
	for i, c := range req.GetChanges() {
		steps[i] = stepFromProto(&check, fmt.Sprintf("changes[%d].", i), c)
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	meta := store.Meta{
		Space: req.GetSpace(), Actor: actor, Reason: req.GetReason(), Key: req.GetIdempotencyKey(),
		Request: identify(req, req.GetIdempotencyKey()),
	}
	result, err := s.memories.Apply(ctx, meta, steps)
	if err != nil {
		return nil, err
	}
	return &pb.ViewServiceApplyResponse{Result: s.result(result)}, nil
}

// stepFromProto converts one change. Field names in violations begin with prefix.
func stepFromProto(check *memory.Check, prefix string, in *pb.ViewChange) memorysvc.Step {
	switch c := in.GetChange().(type) {
	case *pb.ViewChange_Add:
		return memorysvc.Step{Draft: new(draftFromProto(check, prefix+"add.", c.Add))}
	case *pb.ViewChange_Update:
		check.ID(prefix+"update.id", c.Update.GetId())
		return memorysvc.Step{
			Patch: new(patchFromProto(check, c.Update.GetPatch(), c.Update.GetUpdateMask())),
			ID:    c.Update.GetId(), Expected: c.Update.GetExpectedRevision(),
		}
	case *pb.ViewChange_Removal:
		check.ID(prefix+"removal.id", c.Removal.GetId())
		return memorysvc.Step{ID: c.Removal.GetId(), Expected: c.Removal.GetExpectedRevision()}
	}
	check.Add(prefix+"change", "REQUIRED", "must say what to do")
	return memorysvc.Step{}
}
