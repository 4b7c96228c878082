package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// decisions names the decisions in messages.
var decisions = map[guard.Action]pb.Decision{
	guard.Add:    pb.Decision_DECISION_ADD,
	guard.Update: pb.Decision_DECISION_UPDATE,
	guard.Delete: pb.Decision_DECISION_DELETE,
	guard.Noop:   pb.Decision_DECISION_NOOP,
}

// deciders names who decided in messages.
var deciders = map[string]pb.Decider{
	consolidator.ByRules: pb.Decider_DECIDER_RULES,
	consolidator.ByModel: pb.Decider_DECIDER_MODEL,
}

// destinations says where a consolidated text is written; the zero value is the long-term memories.
var destinations = map[pb.WriteTo]string{
	pb.WriteTo_WRITE_TO_UNSPECIFIED: consolidator.ToMemory,
	pb.WriteTo_WRITE_TO_MEMORY:      consolidator.ToMemory,
	pb.WriteTo_WRITE_TO_DAILY:       consolidator.ToDaily,
}

// Consolidate decides about a text, or about log entries that wait. Durable on return.
func (s *memoryServer) Consolidate(ctx context.Context,
	req *pb.MemoryServiceConsolidateRequest) (*pb.MemoryServiceConsolidateResponse, error) {
	switch in := req.GetInput().(type) {
	case *pb.MemoryServiceConsolidateRequest_Text:
		return s.consolidateText(ctx, req, in.Text)
	case *pb.MemoryServiceConsolidateRequest_LogEntries:
		return s.consolidateLogEntries(ctx, req, in.LogEntries)
	}
	var check memory.Check
	check.Add("input", "REQUIRED", "must be a text or log_entries")
	return nil, check.Err()
}

// consolidateText decides about one text. The service keeps the receipt of its key in the operation itself.
func (s *memoryServer) consolidateText(ctx context.Context, req *pb.MemoryServiceConsolidateRequest,
	text *pb.ConsolidateText) (*pb.MemoryServiceConsolidateResponse, error) {
	to, known := destinations[text.GetWriteTo()]
	if !known {
		var check memory.Check
		check.Add("text.write_to", "UNKNOWN_VALUE", "is neither memory nor daily")
		return nil, check.Err()
	}
	done, err := s.consolidator.Consolidate(ctx, consolidator.Request{
		Space: req.GetSpace(), Session: req.GetSessionId(), Content: text.GetContent(), Category: text.GetCategory(),
		Salience: text.Salience, Title: text.GetTitle(), Tags: text.GetTags(), WriteTo: to,
		// The key is recorded with the change itself, so that a crash cannot separate the two.
		Key:    req.GetIdempotencyKey(),
		Reason: req.GetReason(), DryRun: req.GetDryRun(), Confidence: text.Confidence, Later: text.GetAsync(),
		Keep: text.GetAllowSensitive(),
	})
	if err != nil {
		return nil, err
	}
	res := &pb.MemoryServiceConsolidateResponse{
		Result: s.result(store.Result{
			Op: done.Op, Replayed: done.Replayed,
			Outcomes: []journal.Outcome{{
				ID: done.ID, Status: done.Status, Reason: done.Reason, Redactions: done.Redactions,
			}},
		}),
		Items:   []*pb.ConsolidatedItem{s.consolidated(&done, text.GetContent())},
		Changes: s.changes(done.Changes), Redacted: int32(done.Redacted()),
	}
	return res, nil
}

// consolidateLogEntries decides about log entries, each in an operation of its own. Items that do not fit the response
// are counted, not sent. A dry run never uses the idempotency key.
func (s *memoryServer) consolidateLogEntries(ctx context.Context, req *pb.MemoryServiceConsolidateRequest,
	in *pb.ConsolidateLogEntries) (*pb.MemoryServiceConsolidateResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	if err := check.Err(); err != nil {
		return nil, err
	}
	res := &pb.MemoryServiceConsolidateResponse{}
	run := func() (result store.Result, err error) {
		done, remaining, err := s.consolidator.Pending(ctx, consolidator.PendingRequest{
			Space: space, Limit: int(in.GetLimit()), DryRun: req.GetDryRun(),
		})
		if err != nil {
			return result, err
		}
		for i := range done {
			c := &done[i]
			item := s.consolidated(&c.Decision, c.Entry.Content)
			item.LogDate, item.EntryId = c.Date, c.Entry.ID
			res.Items = append(res.Items, item)
			result.Op = max(result.Op, c.Op)
			result.Outcomes = append(result.Outcomes, journal.Outcome{ID: c.ID, Status: c.Status, Reason: c.Reason})
		}
		res.RemainingEntries = int32(remaining)
		return result, nil
	}
	// Several operations share the key here, so the receipt is an operation of its own.
	meta := keyedMeta(req, space, "consolidate log entries")
	if req.GetDryRun() {
		meta.Key = ""
	}
	result, err := s.keyed.run(ctx, meta, run)
	if err != nil {
		return nil, err
	}
	res.Result = s.result(result)
	res.Items, res.OmittedItems = fit(newBudget(), res.Items)
	return res, nil
}

// consolidated converts a decision about a text.
func (s *memoryServer) consolidated(d *consolidator.Decision, content string) *pb.ConsolidatedItem {
	item := &pb.ConsolidatedItem{
		Decision: decisions[d.Action], Id: d.ID, Reason: d.Reason, DecidedBy: deciders[d.DecidedBy],
		FallbackReason: d.Note, LogDate: d.LogDate,
		Pending: d.Pending, Content: content, OperationId: s.operationID(d.Op),
	}
	if d.LogDate != "" {
		item.EntryId = d.ID
	}
	return item
}
