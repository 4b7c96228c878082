package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/consolidator"
	"github.com/memsidecar/memsidecar/internal/digest"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

type learningServer struct {
	pb.UnsafeLearningServiceServer
	consolidator *consolidator.Service
	digest       *digest.Service
}

func (s *learningServer) SaveMemory(ctx context.Context, req *pb.LearningServiceSaveMemoryRequest) (*pb.LearningServiceSaveMemoryResponse, error) {
	var check memory.Check
	save := consolidator.SaveRequest{
		Space: spaceOf(&check, req.GetSpace()), Session: req.GetSession(), History: req.GetHistoryEntry(), Text: req.GetMemoryText(),
		DryRun: req.GetDryRun(), Key: req.GetIdempotencyKey(),
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	for _, m := range req.GetMemories() {
		save.Updates = append(save.Updates, consolidator.Update{
			ID: m.GetId(), Content: m.GetContent(), Category: m.GetCategory(), Salience: m.Salience, Title: m.GetTitle(),
		})
	}
	done, err := s.consolidator.Save(ctx, save)
	if err != nil {
		return nil, err
	}
	res := &pb.LearningServiceSaveMemoryResponse{
		Result:  &pb.WriteResult{Operation: done.Op, Replayed: done.Replayed, Outcomes: outcomesToProto(done.Outcomes)},
		Changes: changesToProto(done.Changes),
	}
	if done.History != nil {
		res.History = outcomesToProto([]journal.Outcome{*done.History})[0]
	}
	for i, item := range done.Items {
		one := &pb.SavedMemory{Decision: decisions[item.Action], Content: item.Memory.Content, Rule: item.Why}
		if i < len(res.GetResult().GetOutcomes()) {
			one.Outcome = res.GetResult().GetOutcomes()[i]
		}
		res.Memories = append(res.Memories, one)
	}
	return res, nil
}

func (s *learningServer) ConsolidatePending(ctx context.Context, req *pb.LearningServiceConsolidatePendingRequest) (*pb.LearningServiceConsolidatePendingResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	if err := check.Err(); err != nil {
		return nil, err
	}
	done, left, err := s.consolidator.Pending(ctx, consolidator.PendingRequest{Space: space, Limit: int(req.GetLimit()), DryRun: req.GetDryRun()})
	if err != nil {
		return nil, err
	}
	res := &pb.LearningServiceConsolidatePendingResponse{Left: int32(left)}
	for _, c := range done {
		res.Entries = append(res.Entries, &pb.ConsolidatedEntry{
			Date: c.Date, Entry: c.Entry.ID, Content: c.Entry.Content, Decision: decisions[c.Action], Id: c.ID, Reason: c.Reason, Operation: c.Op,
			DecidedBy: c.DecidedBy,
		})
	}
	return res, nil
}

func (s *learningServer) RebuildSummary(ctx context.Context, req *pb.LearningServiceRebuildSummaryRequest) (*pb.LearningServiceRebuildSummaryResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	if err := check.Err(); err != nil {
		return nil, err
	}
	result, text, err := s.digest.Rebuild(ctx, space, digest.Options{Replace: req.GetReplace(), DryRun: req.GetDryRun()})
	if err != nil {
		return nil, err
	}
	return &pb.LearningServiceRebuildSummaryResponse{Result: resultToProto(result), Summary: text}, nil
}

func changesToProto(changes []journal.Change) (out []*pb.Change) {
	for i := range changes {
		out = append(out, changeToProto(&changes[i]))
	}
	return out
}
