package rpc

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/consolidator"
	"github.com/memsidecar/memsidecar/internal/reflector/summary"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/service/session"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
	"github.com/memsidecar/memsidecar/internal/store/purge"
)

// reads is where the memory service finds what is not a memory.
type reads struct {
	store   *store.Store
	monitor *Monitor
}

// memoryServer serves MemoryService.
type memoryServer struct {
	pb.UnsafeMemoryServiceServer
	encoder
	memories     *memorysvc.Service
	reads        reads
	consolidator *consolidator.Service
	summaries    *summary.Service
	purges       *purge.Service
	share        *share.Service
	recall       *recall.Service
	sessions     *session.Service
	search       *search.Engine
	keyed        *keyedCalls
}

// Add stores new memories. All drafts are converted before the first is stored, so that all violations are reported at
// once. Durable on return.
func (s *memoryServer) Add(ctx context.Context, req *pb.MemoryServiceAddRequest) (*pb.MemoryServiceAddResponse, error) {
	var check memory.Check
	drafts := make([]memorysvc.Draft, len(req.GetItems()))
	for i, item := range req.GetItems() {
		drafts[i] = draftFromProto(&check, fmt.Sprintf("items[%d].", i), item)
		drafts[i].Keep = req.GetAllowSensitive()
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	result, err := s.memories.Add(ctx, metaOf(req), drafts)
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceAddResponse{Result: s.result(result)}, nil
}

// Get returns memories by id. All of them are looked up for each page; there is a second page only when they are
// large. Error: memory.ErrNotFound when none exists.
func (s *memoryServer) Get(ctx context.Context, req *pb.MemoryServiceGetRequest) (*pb.MemoryServiceGetResponse, error) {
	var check memory.Check
	paging := pagingOf(&check, req, memory.MaxPage)
	if err := check.Err(); err != nil {
		return nil, err
	}
	// A get after a search shows the access. A full disk must not prevent the read.
	_ = s.reads.store.SettleAccesses(ctx, cmp.Or(req.GetSpace(), memory.DefaultSpace), req.GetIds())
	found, missing, err := s.memories.Get(req.GetSpace(), req.GetIds())
	if err != nil {
		return nil, err
	}
	res := &pb.MemoryServiceGetResponse{}
	res.Memories, res.NextPageToken = pageOf(paging, found, memoryID, memoryToProto)
	if paging.first() {
		res.MissingIds = missing
	}
	return res, nil
}

// memoryID names a memory in page tokens.
func memoryID(m *memory.Memory) string { return m.ID }

// orders names the orders of a list.
var orders = map[pb.MemoryOrder]memorysvc.Order{
	pb.MemoryOrder_MEMORY_ORDER_UNSPECIFIED: memorysvc.ByCreated,
	pb.MemoryOrder_MEMORY_ORDER_CREATED:     memorysvc.ByCreated,
	pb.MemoryOrder_MEMORY_ORDER_UPDATED:     memorysvc.ByUpdated,
	pb.MemoryOrder_MEMORY_ORDER_SALIENCE:    memorysvc.BySalience,
	pb.MemoryOrder_MEMORY_ORDER_ACCESS:      memorysvc.ByAccess,
}

// List returns a page. The service makes the page tokens, because a page continues by the sort key of its last memory.
func (s *memoryServer) List(_ context.Context, req *pb.MemoryServiceListRequest) (*pb.MemoryServiceListResponse,
	error) {
	var check memory.Check
	order, ok := orders[req.GetOrder()]
	if !ok {
		check.Add("order", "UNKNOWN_VALUE", "is not an order")
	}
	q := memorysvc.Query{
		Space: req.GetSpace(), Filter: filterFromProto(&check, req.GetFilter()), Order: order,
		Ascending: req.GetAscending(), ShortIDs: req.GetShortIds(),
		Size: int(req.GetPageSize()), Token: req.GetPageToken(),
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	page, err := s.memories.List(q)
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceListResponse{Memories: memoriesToProto(page.Memories), NextPageToken: page.Next,
		Total: int32(page.Total)}, nil
}

// Update changes fields of a memory. Durable on return. Errors: memory.ErrNotFound, *memory.StaleError.
func (s *memoryServer) Update(ctx context.Context, req *pb.MemoryServiceUpdateRequest) (*pb.MemoryServiceUpdateResponse,
	error) {
	var check memory.Check
	patch := patchFromProto(&check, req.GetPatch(), req.GetUpdateMask())
	if err := check.Err(); err != nil {
		return nil, err
	}
	patch.Keep = req.GetAllowSensitive()
	result, m, err := s.memories.Update(ctx, metaOf(req), req.GetId(), req.GetExpectedRevision(), patch)
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceUpdateResponse{Result: s.result(result), Memory: memoryToProto(m)}, nil
}

// Delete retires memories. Durable on return; it works on a full disk too. Errors: memory.ErrNotFound,
// *memory.StaleError.
func (s *memoryServer) Delete(ctx context.Context, req *pb.MemoryServiceDeleteRequest) (*pb.MemoryServiceDeleteResponse,
	error) {
	result, err := s.memories.Delete(ctx, metaOf(req), req.GetIds(), req.GetExpectedRevision(), !req.GetKeepLearnable())
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceDeleteResponse{Result: s.result(result)}, nil
}

// Restore makes memories active again. Durable on return. Error: memory.ErrNotFound.
func (s *memoryServer) Restore(ctx context.Context,
	req *pb.MemoryServiceRestoreRequest) (*pb.MemoryServiceRestoreResponse, error) {
	result, err := s.memories.Restore(ctx, metaOf(req), req.GetIds())
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceRestoreResponse{Result: s.result(result)}, nil
}

// Link adds a relation. Durable on return. Errors: memory.ErrNotFound, *memory.StaleError.
func (s *memoryServer) Link(ctx context.Context, req *pb.MemoryServiceLinkRequest) (*pb.MemoryServiceLinkResponse,
	error) {
	result, m, err := s.memories.Link(ctx, metaOf(req), req.GetId(), req.GetExpectedRevision(),
		relationFromProto(req.GetRelation()))
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceLinkResponse{Result: s.result(result), Memory: memoryToProto(m)}, nil
}

// Unlink removes a relation. Durable on return. Errors: memory.ErrNotFound, *memory.StaleError.
func (s *memoryServer) Unlink(ctx context.Context, req *pb.MemoryServiceUnlinkRequest) (*pb.MemoryServiceUnlinkResponse,
	error) {
	result, m, err := s.memories.Unlink(ctx, metaOf(req), req.GetId(), req.GetExpectedRevision(),
		relationFromProto(req.GetRelation()))
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceUnlinkResponse{Result: s.result(result), Memory: memoryToProto(m)}, nil
}

// defaultHistory is the number of operations of a page that names none.
const defaultHistory = 20

// History returns a page of the operations that changed a memory. A page token names the next operation, so each page
// reads only its own operations. Error: memory.ErrNotFound.
func (s *memoryServer) History(ctx context.Context,
	req *pb.MemoryServiceHistoryRequest) (*pb.MemoryServiceHistoryResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	check.ID("id", req.GetId())
	paging := pagingOf(&check, req, defaultHistory)
	if err := check.Err(); err != nil {
		return nil, err
	}
	records, err := s.history(ctx, space, req.GetId(), paging)
	if err != nil {
		return nil, err
	}
	res, size := &pb.MemoryServiceHistoryResponse{}, 0
	for i, rec := range records {
		op := s.operation(rec, func(c *journal.Change) bool { return c.Memory != nil && c.Memory.ID == req.GetId() })
		// One operation that is larger than a page is sent alone; otherwise it could never be read.
		if size += proto.Size(op); i == paging.size || i > 0 && size > maxPageBytes {
			res.NextPageToken = paging.token(strconv.FormatInt(rec.Op, 10))
			break
		}
		res.Operations = append(res.Operations, op)
	}
	return res, nil
}

// history returns the operations of a page of a memory's history, and one more when there is another page.
func (s *memoryServer) history(ctx context.Context, space, id string, p paging) ([]*journal.Record, error) {
	if p.first() {
		return s.reads.store.History(ctx, space, id, p.size+1)
	}
	op, err := strconv.ParseInt(p.key, 10, 64)
	if err != nil {
		return nil, &memory.InvalidError{Violations: []memory.Violation{invalidToken}}
	}
	return s.reads.store.HistoryFrom(ctx, id, op, p.size+1)
}

// GetSummary returns the rolling summary.
func (s *memoryServer) GetSummary(_ context.Context,
	req *pb.MemoryServiceGetSummaryRequest) (*pb.MemoryServiceGetSummaryResponse, error) {
	text, revision, err := s.memories.Summary(req.GetSpace())
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceGetSummaryResponse{Summary: text, Revision: revision}, nil
}

// SetSummary replaces the rolling summary. Durable on return.
func (s *memoryServer) SetSummary(ctx context.Context,
	req *pb.MemoryServiceSetSummaryRequest) (*pb.MemoryServiceSetSummaryResponse, error) {
	result, err := s.memories.SetSummary(ctx, metaOf(req), req.GetSummary())
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceSetSummaryResponse{Result: s.result(result)}, nil
}

// RebuildSummary makes the rolling summary anew.
func (s *memoryServer) RebuildSummary(ctx context.Context,
	req *pb.MemoryServiceRebuildSummaryRequest) (*pb.MemoryServiceRebuildSummaryResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	check.Text("reason", req.GetReason(), memory.MaxTitle, false)
	if err := check.Err(); err != nil {
		return nil, err
	}
	result, text, err := s.summaries.Rebuild(ctx, space, summary.Options{
		Replace: req.GetReplace(), DryRun: req.GetDryRun(), Reason: req.GetReason(), Key: req.GetIdempotencyKey(),
	})
	if err != nil {
		return nil, err
	}
	return &pb.MemoryServiceRebuildSummaryResponse{Result: s.result(result), Summary: text}, nil
}

// largestCounts is how many categories or sources of a map are sent.
const largestCounts = 1000

// largest returns the largest counts.
func largest(counts map[string]int64) map[string]int64 {
	if len(counts) <= largestCounts {
		return counts
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	out := map[string]int64{}
	for _, name := range names[:largestCounts] {
		out[name] = counts[name]
	}
	return out
}

// Stats counts. All totals cover all selected spaces on every page; only the list of spaces has pages.
func (s *memoryServer) Stats(_ context.Context, req *pb.MemoryServiceStatsRequest) (*pb.MemoryServiceStatsResponse,
	error) {
	var check memory.Check
	paging := pagingOf(&check, req, memory.MaxPage)
	if err := check.Err(); err != nil {
		return nil, err
	}
	stats, err := s.memories.Stats(req.GetSpaces())
	if err != nil {
		return nil, err
	}
	res := &pb.MemoryServiceStatsResponse{
		Total: stats.Total, Active: stats.ByStatus[memory.Active], Superseded: stats.ByStatus[memory.Superseded],
		Retired: stats.ByStatus[memory.Retired], ByCategory: largest(stats.ByCategory),
		// Sources and categories are free text: the rarest are summed up, so that the response stays bounded.
		BySource:        largest(stats.BySource),
		AverageSalience: stats.AverageSalience, Accesses: stats.Accesses, Sessions: stats.Sessions, Days: stats.Days,
		LogEntries: stats.LogEntries, Position: s.position(stats.LSN),
	}
	figures := s.reads.store.JournalStats()
	res.JournalSyncs, res.JournalBytes = figures.Syncs, figures.Bytes
	use := s.search.QueryUse()
	res.QueryVectorLookups, res.QueryVectorHits = use.Cache.Lookups, use.Cache.Hits
	res.SearchesSureByWords = use.ByWords
	name := func(one memorysvc.SpaceStats) string { return one.Name }
	res.Spaces, res.NextPageToken = pageOf(paging, stats.Spaces, name, func(one memorysvc.SpaceStats) *pb.SpaceStats {
		c := s.search.EmbeddingCoverage(one.Name)
		return &pb.SpaceStats{
			Name: one.Name, Active: one.Active, Total: one.Total, Revision: one.Revision,
			Embedded: int64(c.Embedded), EmbeddingPending: int64(c.Waiting), EmbeddingRefused: int64(c.Rejected),
		}
	})
	for _, l := range s.reads.monitor.Latencies() {
		res.Latencies = append(res.Latencies, &pb.MethodLatency{
			Method: l.Method, Count: l.Count, P50: durationpb.New(l.P50), P99: durationpb.New(l.P99),
		})
	}
	return res, nil
}
