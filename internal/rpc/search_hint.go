package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// Hint returns rules about a tool call. It writes nothing: what was shown is kept in memory until the session is
// reflected.
func (s *searchServer) Hint(ctx context.Context, req *pb.SearchServiceHintRequest) (*pb.SearchServiceHintResponse,
	error) {
	res, err := s.recall.Hint(ctx, recall.HintRequest{
		Tool: req.GetTool(), Arguments: req.GetArguments(), Session: req.GetSessionId(), Spaces: req.GetSpaces(),
	})
	if err != nil {
		return nil, err
	}
	out := recallToProto(res)
	return &pb.SearchServiceHintResponse{Rules: out.GetItems(), Block: out.GetBlock(), Tokens: out.GetTokens(),
		Reason: out.GetReason()}, nil
}
