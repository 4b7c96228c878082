package rpc

import (
	"context"
	"strconv"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Archive archives and deletes daily logs and retires expired memories. A dry run never uses the idempotency key. Days
// and expired memories that do not fit the response are counted, not sent; they were processed all the same. Durable
// on return.
func (s *adminServer) Archive(ctx context.Context, req *pb.AdminServiceArchiveRequest) (*pb.AdminServiceArchiveResponse,
	error) {
	res := &pb.AdminServiceArchiveResponse{}
	meta := keyedMeta(req, req.GetSpace(), "archive")
	if req.GetDryRun() {
		meta.Key = ""
	}
	result, err := s.keyed.run(ctx, meta, func() (result store.Result, err error) {
		res, result, err = s.archive(ctx, req)
		return result, err
	})
	if err != nil {
		return nil, err
	}
	res.Result = s.result(result)
	budget := newBudget()
	res.Days, res.OmittedDays = fit(budget, res.Days)
	res.Expired, res.OmittedExpired = fit(budget, res.Expired)
	return res, nil
}

// archive runs the archiver and retires expired memories.
func (s *adminServer) archive(ctx context.Context, req *pb.AdminServiceArchiveRequest) (*pb.AdminServiceArchiveResponse,
	store.Result, error) {
	report, err := s.archiver.Run(ctx, archiver.Options{
		Space: req.GetSpace(), ArchiveDays: int(req.GetArchiveDays()), DeleteDays: int(req.GetDeleteDays()),
		MaxDays: int(req.GetLimit()), DryRun: req.GetDryRun(),
	})
	if err != nil {
		return nil, store.Result{}, err
	}
	// Expiry does not depend on logs, so it goes on when summaries wait for the model.
	expired, err := s.archiver.Expire(ctx, archiver.ExpireOptions{Space: req.GetSpace(), DryRun: req.GetDryRun()})
	if err != nil {
		return nil, store.Result{}, err
	}
	res := &pb.AdminServiceArchiveResponse{Today: report.Today}
	if report.Waiting != nil {
		res.WaitingReason = report.Waiting.Error()
	}
	var result store.Result
	for i := range report.Days {
		res.Days = append(res.Days, s.archivedDay(&report.Days[i]))
		addOperation(&result, report.Days[i].Op)
	}
	for _, e := range expired.Expired {
		res.Expired = append(res.Expired, &pb.ExpiredMemory{
			Space: e.Space, MemoryId: e.ID, Category: e.Category, OperationId: s.operationID(e.Op),
		})
		addOperation(&result, e.Op)
	}
	return res, result, nil
}

// addOperation adds an operation to the result of a call of several, with an outcome that has its number.
func addOperation(result *store.Result, op int64) {
	id := strconv.FormatInt(op, 10)
	if n := len(result.Outcomes); op == 0 || n > 0 && result.Outcomes[n-1].ID == id {
		return
	}
	result.Op = max(result.Op, op)
	result.Outcomes = append(result.Outcomes, journal.Outcome{ID: id, Status: journal.Applied})
}

// archiveActions names the actions of the archiver in messages.
var archiveActions = map[archiver.Action]pb.ArchiveAction{
	archiver.Archive:   pb.ArchiveAction_ARCHIVE_ACTION_ARCHIVE,
	archiver.Delete:    pb.ArchiveAction_ARCHIVE_ACTION_DELETE,
	archiver.Keep:      pb.ArchiveAction_ARCHIVE_ACTION_KEEP,
	archiver.Postponed: pb.ArchiveAction_ARCHIVE_ACTION_POSTPONED,
}

// archivedDay converts the report on one daily log.
func (s *adminServer) archivedDay(d *archiver.Day) *pb.ArchivedDay {
	day := &pb.ArchivedDay{
		Space: d.Space, Date: d.Date, Action: archiveActions[d.Action], EntryCount: int32(d.Entries),
		Summary: d.Summary,
		Reason:  d.Reason, OperationId: s.operationID(d.Op), AgeDays: int32(d.Age), FallbackReason: d.Note,
	}
	for _, p := range d.Promoted {
		day.Promoted = append(day.Promoted,
			&pb.PromotedEntry{MemoryId: p.ID, EntryId: p.Entry, Category: p.Category, Content: p.Content})
	}
	for _, k := range d.Skipped {
		day.Skipped = append(day.Skipped,
			&pb.SkippedEntry{EntryId: k.Entry, Category: k.Category, Content: k.Content, Reason: k.Reason})
	}
	return day
}

// Compress merges old, similar memories. The key and the size of the response are treated as by Archive. Durable on
// return.
func (s *adminServer) Compress(ctx context.Context,
	req *pb.AdminServiceCompressRequest) (*pb.AdminServiceCompressResponse, error) {
	res := &pb.AdminServiceCompressResponse{}
	meta := keyedMeta(req, req.GetSpace(), "compress")
	if req.GetDryRun() {
		meta.Key = ""
	}
	result, err := s.keyed.run(ctx, meta, func() (result store.Result, err error) {
		res, result, err = s.compress(ctx, req)
		return result, err
	})
	if err != nil {
		return nil, err
	}
	res.Result = s.result(result)
	res.Groups, res.OmittedGroups = fit(newBudget(), res.Groups)
	return res, nil
}

// compress runs the archiver without regard to the idempotency key, and returns the operations for the receipt.
func (s *adminServer) compress(ctx context.Context,
	req *pb.AdminServiceCompressRequest) (*pb.AdminServiceCompressResponse, store.Result, error) {
	// Each group is an operation of its own: one that is undone leaves the others merged.
	report, err := s.archiver.Compress(ctx, archiver.CompressOptions{
		Space: req.GetSpace(), Days: int(req.GetDays()), MaxGroups: int(req.GetLimit()), DryRun: req.GetDryRun(),
	})
	if err != nil {
		return nil, store.Result{}, err
	}
	res := &pb.AdminServiceCompressResponse{PostponedReason: report.Postponed, Candidates: int32(report.Candidates)}
	var result store.Result
	for _, g := range report.Groups {
		group := &pb.CompressedGroup{
			Space: g.Space, Category: g.Category, OriginalIds: g.Originals, Reason: g.Reason,
			OperationId: s.operationID(g.Op),
		}
		for _, m := range g.Results {
			group.Results = append(group.Results,
				&pb.MergedMemory{MemoryId: m.ID, Content: m.Content, Supersedes: m.Supersedes})
		}
		res.Groups = append(res.Groups, group)
		addOperation(&result, g.Op)
	}
	return res, result, nil
}
