package rpc

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/purge"
	"github.com/memsidecar/memsidecar/internal/store"
)

func (s *memoryServer) Purge(ctx context.Context, req *pb.MemoryServicePurgeRequest) (*pb.MemoryServicePurgeResponse, error) {
	result, err := s.purges.Run(ctx, purge.Request{
		PurgeRequest: store.PurgeRequest{
			Space: req.GetSpace(), IDs: req.GetIds(), Texts: req.GetTexts(), Transcripts: req.GetTranscripts(), Reason: req.GetReason(),
		},
		DryRun: req.GetDryRun(),
	})
	if err != nil {
		return nil, err
	}
	if !req.GetDryRun() {
		s.recall.ForgetTraces()
		s.sessions.ForgetWorking()
		s.memories.Release()
	}
	res := &pb.MemoryServicePurgeResponse{Operation: result.Op, Left: result.Left, WritersWaited: durationpb.New(result.Waited)}
	for _, kind := range slices.Sorted(maps.Keys(result.Places)) {
		if n := result.Places[kind]; n > 0 {
			res.Places = append(res.Places, &pb.PurgedPlace{Kind: kind, Count: n})
		}
	}
	return res, nil
}
