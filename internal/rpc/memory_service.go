package rpc

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/consolidator"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memories"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/purge"
	"github.com/memsidecar/memsidecar/internal/recall"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/session"
	"github.com/memsidecar/memsidecar/internal/store"
)

// reads is where the memory service finds what is not a memory.
type reads struct {
	store   *store.Store
	monitor *Monitor
}

type memoryServer struct {
	pb.UnsafeMemoryServiceServer
	memories     *memories.Service
	reads        reads
	consolidator *consolidator.Service
	purges       *purge.Service
	recall       *recall.Service
	sessions     *session.Service
	search       *search.Engine
}

func (s *memoryServer) Add(ctx context.Context, req *pb.MemoryServiceAddRequest) (*pb.MemoryServiceAddResponse, error) {
	var check memory.Check
	drafts := make([]memories.Draft, len(req.GetItems()))
	for i, item := range req.GetItems() {
		drafts[i] = draftFromProto(&check, fmt.Sprintf("items[%d].", i), item)
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	result, err := s.memories.Add(ctx, metaOf(req), drafts)
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceAddResponse{Result: resultToProto(result)}, nil
}

func (s *memoryServer) Get(_ context.Context, req *pb.MemoryServiceGetRequest) (*pb.MemoryServiceGetResponse, error) {
	found, missing, err := s.memories.Get(req.GetSpace(), req.GetIds())
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceGetResponse{Memories: memoriesToProto(found), Missing: missing}, nil
}

var orders = map[pb.MemoryOrder]memories.Order{
	pb.MemoryOrder_MEMORY_ORDER_UNSPECIFIED: memories.ByCreated,
	pb.MemoryOrder_MEMORY_ORDER_CREATED:     memories.ByCreated,
	pb.MemoryOrder_MEMORY_ORDER_UPDATED:     memories.ByUpdated,
	pb.MemoryOrder_MEMORY_ORDER_SALIENCE:    memories.BySalience,
	pb.MemoryOrder_MEMORY_ORDER_ACCESS:      memories.ByAccess,
}

func (s *memoryServer) List(_ context.Context, req *pb.MemoryServiceListRequest) (*pb.MemoryServiceListResponse, error) {
	var check memory.Check
	order, ok := orders[req.GetOrder()]
	if !ok {
		check.Add("order", "UNKNOWN_ORDER", "is not an order")
	}
	q := memories.Query{
		Space: req.GetSpace(), Filter: filterFromProto(&check, req.GetFilter()), Order: order, Ascending: req.GetAscending(),
		Size: int(req.GetPageSize()), Token: req.GetPageToken(),
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	page, err := s.memories.List(q)
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceListResponse{Memories: memoriesToProto(page.Memories), NextPageToken: page.Next, Total: int32(page.Total)}, nil
}

func (s *memoryServer) Update(ctx context.Context, req *pb.MemoryServiceUpdateRequest) (*pb.MemoryServiceUpdateResponse, error) {
	var check memory.Check
	patch := patchFromProto(&check, req.GetPatch(), req.GetUpdateMask())
	if err := check.Err(); err != nil {
		return nil, err
	}
	result, m, err := s.memories.Update(ctx, metaOf(req), req.GetId(), req.GetExpectedRevision(), patch)
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceUpdateResponse{Result: resultToProto(result), Memory: memoryToProto(m)}, nil
}

func (s *memoryServer) Delete(ctx context.Context, req *pb.MemoryServiceDeleteRequest) (*pb.MemoryServiceDeleteResponse, error) {
	forget := req.Forget == nil || *req.Forget
	result, err := s.memories.Delete(ctx, metaOf(req), req.GetIds(), req.GetExpectedRevision(), forget)
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceDeleteResponse{Result: resultToProto(result)}, nil
}

func (s *memoryServer) Restore(ctx context.Context, req *pb.MemoryServiceRestoreRequest) (*pb.MemoryServiceRestoreResponse, error) {
	result, err := s.memories.Restore(ctx, metaOf(req), req.GetIds())
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceRestoreResponse{Result: resultToProto(result)}, nil
}

func (s *memoryServer) Link(ctx context.Context, req *pb.MemoryServiceLinkRequest) (*pb.MemoryServiceLinkResponse, error) {
	result, m, err := s.memories.Link(ctx, metaOf(req), req.GetId(), req.GetExpectedRevision(), relationFromProto(req.GetRelation()))
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceLinkResponse{Result: resultToProto(result), Memory: memoryToProto(m)}, nil
}

func (s *memoryServer) Unlink(ctx context.Context, req *pb.MemoryServiceUnlinkRequest) (*pb.MemoryServiceUnlinkResponse, error) {
	result, m, err := s.memories.Unlink(ctx, metaOf(req), req.GetId(), req.GetExpectedRevision(), relationFromProto(req.GetRelation()))
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceUnlinkResponse{Result: resultToProto(result), Memory: memoryToProto(m)}, nil
}

// defaultHistory is the number of operations of a history that names none.
const defaultHistory = 20

func (s *memoryServer) History(ctx context.Context, req *pb.MemoryServiceHistoryRequest) (*pb.MemoryServiceHistoryResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	check.ID("id", req.GetId())
	limit := pageSize(&check, "limit", req.GetLimit(), defaultHistory)
	if err := check.Err(); err != nil {
		return nil, err
	}
	records, err := s.reads.store.History(ctx, space, req.GetId(), limit)
	if err != nil {
		return nil, err
	}
	res := &pb.MemoryServiceHistoryResponse{}
	for _, rec := range records {
		res.Operations = append(res.Operations, operationToProto(rec, func(c *journal.Change) bool {
			return c.Memory != nil && c.Memory.ID == req.GetId()
		}))
	}
	return res, nil
}

func (s *memoryServer) GetRollingSummary(_ context.Context, req *pb.MemoryServiceGetRollingSummaryRequest) (*pb.MemoryServiceGetRollingSummaryResponse, error) {
	text, revision, err := s.memories.Summary(req.GetSpace())
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceGetRollingSummaryResponse{Summary: text, Revision: revision}, nil
}

func (s *memoryServer) SetRollingSummary(ctx context.Context, req *pb.MemoryServiceSetRollingSummaryRequest) (*pb.MemoryServiceSetRollingSummaryResponse, error) {
	result, err := s.memories.SetSummary(ctx, metaOf(req), req.GetSummary())
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceSetRollingSummaryResponse{Result: resultToProto(result)}, nil
}

func (s *memoryServer) Stats(_ context.Context, req *pb.MemoryServiceStatsRequest) (*pb.MemoryServiceStatsResponse, error) {
	stats, err := s.memories.Stats(req.GetSpaces())
	if err != nil {
		return nil, err
	}
	res := &pb.MemoryServiceStatsResponse{
		Total: stats.Total, ByCategory: stats.ByCategory, ByStatus: map[string]int64{}, BySource: stats.BySource,
		AverageSalience: stats.AverageSalience, Accesses: stats.Accesses, Sessions: stats.Sessions, Days: stats.Days,
		LogEntries: stats.LogEntries, Lsn: stats.LSN,
	}
	figures := s.reads.store.Journal()
	res.JournalSyncs, res.JournalBytes = figures.Syncs, figures.Bytes
	for status, n := range stats.ByStatus {
		res.ByStatus[string(status)] = n
	}
	for _, one := range stats.Spaces {
		c := s.search.Coverage(one.Name)
		res.Spaces = append(res.Spaces, &pb.SpaceStats{
			Name: one.Name, Active: one.Active, Total: one.Total, Revision: one.Revision,
			Embedded: int64(c.Embedded), EmbeddingWaiting: int64(c.Waiting), EmbeddingRefused: int64(c.Refused),
		})
	}
	for _, l := range s.reads.monitor.Latencies() {
		res.Latencies = append(res.Latencies, &pb.MethodLatency{
			Method: l.Method, Count: l.Count, P50: durationpb.New(l.P50), P99: durationpb.New(l.P99),
		})
	}
	return res, nil
}

func (s *memoryServer) Hot(_ context.Context, req *pb.MemoryServiceHotRequest) (*pb.MemoryServiceHotResponse, error) {
	hot, err := s.memories.Hot(req.GetSpace(), int(req.GetLimit()))
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceHotResponse{Memories: memoriesToProto(hot)}, nil
}
