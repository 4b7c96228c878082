package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/consolidator"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

var destinations = map[pb.WriteTo]string{
	pb.WriteTo_WRITE_TO_UNSPECIFIED: consolidator.ToMemory,
	pb.WriteTo_WRITE_TO_MEMORY:      consolidator.ToMemory,
	pb.WriteTo_WRITE_TO_DAILY:       consolidator.ToDaily,
}

func (s *memoryServer) Consolidate(ctx context.Context, req *pb.MemoryServiceConsolidateRequest) (*pb.MemoryServiceConsolidateResponse, error) {
	to, known := destinations[req.GetWriteTo()]
	if !known {
		var check memory.Check
		check.Add("write_to", "UNKNOWN_DESTINATION", "is neither memory nor daily")
		return nil, check.Err()
	}
	done, err := s.consolidator.Consolidate(ctx, consolidator.Request{
		Space: req.GetSpace(), Session: req.GetSession(), Content: req.GetContent(), Category: req.GetCategory(), Salience: req.Salience,
		Title: req.GetTitle(), Tags: req.GetTags(), WriteTo: to, Key: req.GetIdempotencyKey(), DryRun: req.GetDryRun(),
		Confidence: req.Confidence, Later: req.Wait != nil && !*req.Wait,
	})
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceConsolidateResponse{
		Result: resultToProto(store.Result{
			Op: done.Op, Replayed: done.Replayed, Outcomes: []journal.Outcome{{ID: done.ID, Status: done.Status, Reason: done.Reason}},
		}),
		Decision: decisions[done.Action], Id: done.ID, Reason: done.Reason,
		DecidedBy: done.DecidedBy, Note: done.Note, Pending: done.Pending, Changes: changesToProto(done.Changes),
	}, nil
}
