package rpc

import (
	"cmp"
	"context"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/logindex"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/service/recall"
	"github.com/memsidecar/memsidecar/internal/share"
	"github.com/memsidecar/memsidecar/internal/store"
)

const (
	defaultSimilar = 10  // hits of Similar when the request names no limit
	defaultHot     = 20  // memories of a page of Hot
	defaultRecalls = 100 // recalls of a page
)

// searchServer serves SearchService.
type searchServer struct {
	pb.UnsafeSearchServiceServer
	engine   *search.Engine
	logs     *logindex.Index
	recall   *recall.Service
	memories *memorysvc.Service
	store    *store.Store
	share    *share.Service
	now      func() time.Time
}

// Search returns hits and counts an access of each, once for a session, unless the request says otherwise. Hits that
// do not fit the response are counted, not sent.
func (s *searchServer) Search(ctx context.Context, req *pb.SearchServiceSearchRequest) (*pb.SearchServiceSearchResponse,
	error) {
	in, err := searchFromProto(req)
	if err != nil {
		return nil, err
	}
	if req.GetMirror() {
		return s.searchMirror(ctx, req, in)
	}
	if req.GetMirrorUrl() != "" {
		var check memory.Check
		check.Add("mirror_url", "CONFLICT", "is used with mirror only")
		return nil, check.Err()
	}
	if req.GetWaitIndexed() {
		if err := s.engine.WaitIndexed(ctx, req.GetSpaces()); err != nil {
			return nil, err
		}
	}
	if req.GetIncludeLogs() {
		return s.searchLogs(ctx, req, in)
	}
	found, err := s.engine.Search(ctx, in)
	if err != nil {
		return nil, err
	}
	if !req.GetNoTouch() {
		s.touch(req.GetSessionId(), found.Hits)
	}
	return searchToProto(found), nil
}

// searchToProto converts what a search found, as much as fits a response.
func searchToProto(found *search.Response) *pb.SearchServiceSearchResponse {
	out := &pb.SearchServiceSearchResponse{
		Candidates: int32(found.Candidates), Abstained: found.Abstained, Reason: found.Reason,
		VectorsUsed: found.VectorsUsed,
	}
	out.Hits, out.OmittedHits = fit(newBudget(), hitsToProto(found.Hits))
	return out
}

// touch counts an access of each hit that is a memory.
func (s *searchServer) touch(session string, hits []search.Hit) {
	bySpace := map[string][]string{}
	for _, h := range hits {
		if !h.FromCollection {
			bySpace[h.Space] = append(bySpace[h.Space], h.Memory.ID)
		}
	}
	for space, ids := range bySpace {
		s.recall.CountAccess(session, space, ids...)
	}
}

// Similar returns what is most similar to a memory or a text. Error: memory.ErrNotFound for an unknown memory.
func (s *searchServer) Similar(ctx context.Context,
	req *pb.SearchServiceSimilarRequest) (*pb.SearchServiceSimilarResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	check.Unit("min_similarity", req.GetMinSimilarity())
	limit := cmp.Or(int(req.GetLimit()), defaultSimilar)
	if limit < 1 || limit > memory.MaxK {
		check.Add("limit", "OUT_OF_RANGE", "must be 1 to %d", memory.MaxK)
	}
	if req.GetLike() == nil {
		check.Add("like", "REQUIRED", "id or content must be given")
	}
	filter := filterFromProto(&check, req.GetFilter())
	if err := check.Err(); err != nil {
		return nil, err
	}
	text := req.GetContent()
	if id := req.GetId(); id != "" {
		m, err := s.store.Space(space).Get(id)
		if err != nil {
			return nil, err
		}
		text = m.Content
	}
	hits, err := s.engine.SimilarAmong(ctx, space, text, min(limit+1, memory.MaxK), filter) // one is the memory itself
	if err != nil {
		return nil, err
	}
	var kept []search.Hit
	for _, h := range hits {
		if len(kept) < limit && h.Memory.ID != req.GetId() && h.Score >= req.GetMinSimilarity() {
			kept = append(kept, h)
		}
	}
	res := &pb.SearchServiceSimilarResponse{}
	res.Hits, res.OmittedHits = fit(newBudget(), hitsToProto(kept))
	return res, nil
}

// Hot returns a page of the most accessed memories. Accesses between two pages may move memories between them.
func (s *searchServer) Hot(_ context.Context, req *pb.SearchServiceHotRequest) (*pb.SearchServiceHotResponse, error) {
	var check memory.Check
	paging := pagingOf(&check, req, defaultHot)
	if err := check.Err(); err != nil {
		return nil, err
	}
	hot, err := s.memories.Hot(req.GetSpace())
	if err != nil {
		return nil, err
	}
	res := &pb.SearchServiceHotResponse{}
	res.Memories, res.NextPageToken = pageOf(paging, hot, memoryID, memoryToProto)
	return res, nil
}
