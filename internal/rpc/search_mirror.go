package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/share/mirror"
)

// searchMirror is Search with mirror. It counts no accesses: the memories need not be on this machine.
func (s *searchServer) searchMirror(ctx context.Context, req *pb.SearchServiceSearchRequest,
	in search.Request) (*pb.SearchServiceSearchResponse, error) {
	if err := checkMirror(req, in); err != nil {
		return nil, err
	}
	found, err := s.engine.SearchElsewhere(ctx, in, func(ctx context.Context, q *search.Question) ([]search.Extract, error) {
		extracts, err := s.share.FindInMirror(ctx, req.GetMirrorUrl(), mirrorQuery(req.GetSpaces(), q))
		return fromMirror(extracts), err
	})
	if err != nil {
		return nil, err
	}
	return searchToProto(found), nil
}

// checkMirror checks what a search of a mirror cannot do. Error: *memory.InvalidError.
func checkMirror(req *pb.SearchServiceSearchRequest, in search.Request) error {
	var check memory.Check
	if in.Profile != "" && in.Profile != search.Balanced {
		check.Add("profile", "CONFLICT", "must be balanced with mirror: the other profiles look at every memory")
	}
	if req.GetIncludeLogs() {
		check.Add("include_logs", "CONFLICT", "cannot be used with mirror: daily logs stay on their machine")
	}
	if req.GetWaitIndexed() {
		check.Add("wait_indexed", "CONFLICT", "cannot be used with mirror")
	}
	if len(req.GetMinPositions()) > 0 {
		check.Add("min_positions", "CONFLICT", "cannot be used with mirror")
	}
	return check.Err()
}

// mirrorQuery asks a mirror what a search asks.
func mirrorQuery(spaces []string, q *search.Question) *mirror.Query {
	out := &mirror.Query{
		Spaces: spaces, Terms: q.Terms, Weights: q.Weights, IDs: q.IDs, Codes: q.Codes, Filter: q.Filter, AsOf: q.AsOf,
		Past: q.Past, Limit: q.Limit,
	}
	for _, t := range q.Times {
		out.Times = append(out.Times, mirror.Span(t))
	}
	return out
}

// fromMirror is what a mirror has, for the ranking.
func fromMirror(extracts []mirror.Extract) []search.Extract {
	out := make([]search.Extract, len(extracts))
	for i, e := range extracts {
		out[i] = search.Extract{Space: e.Space, Active: int(e.Active), Length: e.Length, Holding: e.Holding}
		for _, f := range e.Found {
			out[i].Memories = append(out[i].Memories, search.KeptMemory(f))
		}
	}
	return out
}
