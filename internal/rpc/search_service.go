package rpc

import (
	"context"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/chronicle"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/recall"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
)

// defaultK is the number of similar memories when none is asked for.
const defaultK = 10

type searchServer struct {
	pb.UnsafeSearchServiceServer
	engine *search.Engine
	logs   *chronicle.Finder
	recall *recall.Service
	store  *store.Store
	now    func() time.Time
}

func (s *searchServer) Search(ctx context.Context, req *pb.SearchServiceSearchRequest) (*pb.SearchServiceSearchResponse, error) {
	in, err := searchFromProto(req)
	if err != nil {
		return nil, err
	}
	if req.GetIncludeLogs() {
		return s.searchLogs(ctx, req, in)
	}
	found, err := s.engine.Search(ctx, in)
	if err != nil {
		return nil, err
	}
	if req.Touch == nil || *req.Touch {
		s.touch(found.Hits)
	}
	return &pb.SearchServiceSearchResponse{
		Hits: hitsToProto(found.Hits), Candidates: int32(found.Candidates), Abstained: found.Abstained, Reason: found.Reason, Meant: found.Meant,
	}, nil
}

// touch counts an access of each hit.
func (s *searchServer) touch(hits []search.Hit) {
	bySpace := map[string][]string{}
	for _, h := range hits {
		if h.Beside {
			continue
		}
		bySpace[h.Space] = append(bySpace[h.Space], h.Memory.ID)
	}
	for space, ids := range bySpace {
		s.store.Touch(space, ids, s.now())
	}
}

func (s *searchServer) Similar(ctx context.Context, req *pb.SearchServiceSimilarRequest) (*pb.SearchServiceSimilarResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	check.Unit("min_similarity", req.GetMinSimilarity())
	k := int(req.GetK())
	if k == 0 {
		k = defaultK
	}
	if k < 1 || k > memory.MaxK {
		check.Add("k", "OUT_OF_RANGE", "must be 1 to %d", memory.MaxK)
	}
	if req.GetLike() == nil {
		check.Add("like", "REQUIRED", "id or content must be given")
	}
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
	// The memory itself and other categories are among the nearest and do not count.
	hits, err := s.engine.Similar(ctx, space, text, memory.MaxK)
	if err != nil {
		return nil, err
	}
	var kept []search.Hit
	for _, h := range hits {
		if len(kept) < k && h.Memory.ID != req.GetId() && h.Score >= req.GetMinSimilarity() && inSpaces(req.GetCategories(), h.Memory.Category) {
			kept = append(kept, h)
		}
	}
	return &pb.SearchServiceSimilarResponse{Hits: hitsToProto(kept)}, nil
}
