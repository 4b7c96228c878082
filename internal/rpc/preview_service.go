package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/service/recall"
)

// previewServer serves PreviewService of memsidecar.v1alpha1.
type previewServer struct {
	pb.UnsafePreviewServiceServer
	recall *recall.Service
}

// leftOutReasons names why a memory is left out in messages.
var leftOutReasons = map[string]pb.LeftOutReason{
	recall.LeftOutWeak:   pb.LeftOutReason_LEFT_OUT_REASON_WEAK,
	recall.LeftOutLimit:  pb.LeftOutReason_LEFT_OUT_REASON_LIMIT,
	recall.LeftOutBudget: pb.LeftOutReason_LEFT_OUT_REASON_BUDGET,
	recall.LeftOutTool:   pb.LeftOutReason_LEFT_OUT_REASON_TOOL,
}

// Recall shows what a recall would return, and changes nothing.
func (s *previewServer) Recall(ctx context.Context, req *pb.PreviewServiceRecallRequest) (
	*pb.PreviewServiceRecallResponse, error) {
	res, left, err := s.recall.Preview(ctx, recall.Request{
		Text: req.GetText(), Spaces: req.GetSpaces(), Explicit: req.GetExplicit(), WorkingTools: req.GetWorkingTools(),
	})
	if err != nil {
		return nil, err
	}
	out := &pb.PreviewServiceRecallResponse{Recall: recallToProto(res)}
	for _, l := range left {
		out.LeftOut = append(out.LeftOut, &pb.LeftOut{
			Memory: memoryToProto(l.Memory), Space: l.Space, Score: l.Score, Strength: strengths[l.Strength],
			Reason: leftOutReasons[l.Reason],
		})
	}
	return out, nil
}
