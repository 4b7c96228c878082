package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/logindex"
)

// searchLogs is Search with include_logs.
func (s *searchServer) searchLogs(ctx context.Context, req *pb.SearchServiceSearchRequest,
	in search.Request) (*pb.SearchServiceSearchResponse, error) {
	found, err := s.logs.Search(ctx, in)
	if err != nil {
		return nil, err
	}
	if !req.GetNoTouch() {
		s.touch(req.GetSessionId(), found.Hits)
	}
	out := &pb.SearchServiceSearchResponse{
		Hits: hitsToProto(found.Hits), Candidates: int32(found.Candidates), Abstained: found.Abstained,
		Reason: found.Reason, VectorsUsed: found.VectorsUsed, LogsStartDate: found.CompleteFrom,
	}
	for i, l := range found.Logs {
		if l != nil {
			out.Hits[i].Memory, out.Hits[i].Log = nil, logMatchToProto(l)
			out.Hits[i].Strength = pb.HitStrength_HIT_STRENGTH_UNSPECIFIED // calibrated on memories only
		}
	}
	out.Hits, out.OmittedHits = fit(newBudget(), out.Hits)
	return out, nil
}

// logMatchToProto converts a text of a daily log.
func logMatchToProto(f *logindex.LogText) *pb.LogMatch {
	return &pb.LogMatch{Date: f.Date, Entry: entryToProto(f.Entry), Summary: f.Summary, Deleted: f.Deleted}
}
