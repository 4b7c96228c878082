package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/chronicle"
	"github.com/memsidecar/memsidecar/internal/search"
)

// searchLogs is Search with include_logs.
func (s *searchServer) searchLogs(ctx context.Context, req *pb.SearchServiceSearchRequest, in search.Request) (*pb.SearchServiceSearchResponse, error) {
	found, err := s.logs.Search(ctx, in)
	if err != nil {
		return nil, err
	}
	if req.Touch == nil || *req.Touch {
		s.touch(found.Hits)
	}
	out := &pb.SearchServiceSearchResponse{
		Hits: hitsToProto(found.Hits), Candidates: int32(found.Candidates), Abstained: found.Abstained, Reason: found.Reason, Meant: found.Meant,
		LogsFrom: found.From,
	}
	for i, l := range found.Logs {
		if l != nil {
			out.Hits[i].Memory, out.Hits[i].Log = nil, logMatchToProto(l)
		}
	}
	return out, nil
}

func logMatchToProto(f *chronicle.Found) *pb.LogMatch {
	return &pb.LogMatch{Date: f.Date, Entry: entryToProto(f.Entry), Summary: f.Summary, Deleted: f.Deleted}
}
