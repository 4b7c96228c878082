package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Save writes to the daily log and brings memories up to date, in one operation. Durable on return.
func (s *memoryServer) Save(ctx context.Context, req *pb.MemoryServiceSaveRequest) (*pb.MemoryServiceSaveResponse,
	error) {
	var check memory.Check
	save := consolidator.SaveRequest{
		Space: spaceOf(&check, req.GetSpace()), Session: req.GetSessionId(), History: req.GetHistoryEntry(),
		Text: req.GetMemoryText(),
		Keep: req.GetAllowSensitive(), DryRun: req.GetDryRun(), Key: req.GetIdempotencyKey(), Reason: req.GetReason(),
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	for _, m := range req.GetMemories() {
		save.Updates = append(save.Updates, consolidator.Update{
			ID: m.GetId(), Content: m.GetContent(), Category: m.GetCategory(), Salience: m.Salience,
			Title: m.GetTitle(),
		})
	}
	done, err := s.consolidator.Save(ctx, save)
	if err != nil {
		return nil, err
	}
	res := &pb.MemoryServiceSaveResponse{
		Result:   s.result(store.Result{Op: done.Op, Replayed: done.Replayed, Outcomes: done.Outcomes}),
		Redacted: int32(done.Redacted),
	}
	res.Changes, res.OmittedChanges = fit(newBudget(), s.changes(done.Changes))
	if done.History != nil {
		res.History = outcomesToProto([]journal.Outcome{*done.History})[0]
	}
	for i, item := range done.Items {
		// A dry run has decisions and no outcomes.
		one := &pb.SavedMemory{Decision: decisions[item.Action], Content: item.Memory.Content, Rule: item.Reason}
		if i < len(res.GetResult().GetOutcomes()) {
			one.Outcome = res.GetResult().GetOutcomes()[i]
		}
		res.Memories = append(res.Memories, one)
	}
	return res, nil
}
