package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memories"
)

type titleServer struct {
	pb.UnsafeTitleServiceServer
	memories *memories.Service
}

func (s *titleServer) Save(ctx context.Context, req *pb.TitleServiceSaveRequest) (*pb.TitleServiceSaveResponse, error) {
	result, m, replaced, err := s.memories.SaveTitled(ctx, metaOf(req), memories.Titled{
		Title: req.GetTitle(), Content: req.GetContent(), Category: req.GetCategory(), Salience: req.Salience, Tags: req.GetTags(),
	})
	if err != nil {
		return nil, err
	}
	return &pb.TitleServiceSaveResponse{Result: resultToProto(result), Memory: memoryToProto(m), Replaced: replaced}, nil
}

func (s *titleServer) Find(_ context.Context, req *pb.TitleServiceFindRequest) (*pb.TitleServiceFindResponse, error) {
	found, err := s.memories.FindTitled(req.GetSpace(), req.GetTitle())
	if err != nil {
		return nil, err
	}
	return &pb.TitleServiceFindResponse{Memories: memoriesToProto(found)}, nil
}

func (s *titleServer) Forget(ctx context.Context, req *pb.TitleServiceForgetRequest) (*pb.TitleServiceForgetResponse, error) {
	result, err := s.memories.ForgetTitled(ctx, metaOf(req), req.GetTitle())
	if err != nil {
		return nil, err
	}
	return &pb.TitleServiceForgetResponse{Result: resultToProto(result)}, nil
}
