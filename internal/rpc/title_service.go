package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
)

// defaultTitled is the number of memories of a page that names none.
const defaultTitled = 100

// titleServer serves TitleService of memsidecar.v1alpha1.
type titleServer struct {
	pb.UnsafeTitleServiceServer
	encoder
	memories *memorysvc.Service
}

// Save stores a text under a title. Durable on return.
func (s *titleServer) Save(ctx context.Context, req *pb.TitleServiceSaveRequest) (*pb.TitleServiceSaveResponse, error) {
	result, m, replaced, err := s.memories.SaveTitled(ctx, metaOf(req), memorysvc.Titled{
		Title: req.GetTitle(), Description: req.GetDescription(), Content: req.GetContent(), Category: req.GetCategory(), Salience: req.Salience,
		Tags: req.GetTags(),
	})
	if err != nil {
		return nil, err
	}
	return &pb.TitleServiceSaveResponse{Result: s.result(result), Memory: memoryToProto(m), Replaced: replaced}, nil
}

// Find returns a page of the memories with a title. Error: memory.ErrNotFound.
func (s *titleServer) Find(_ context.Context, req *pb.TitleServiceFindRequest) (*pb.TitleServiceFindResponse, error) {
	var check memory.Check
	paging := pagingOf(&check, req, defaultTitled)
	if err := check.Err(); err != nil {
		return nil, err
	}
	found, err := s.memories.FindTitled(req.GetSpace(), req.GetTitle())
	if err != nil {
		return nil, err
	}
	res := &pb.TitleServiceFindResponse{}
	res.Memories, res.NextPageToken = pageOf(paging, found, memoryID, memoryToProto)
	return res, nil
}

// Forget retires the memories with a title. Durable on return. Error: memory.ErrNotFound.
func (s *titleServer) Forget(ctx context.Context, req *pb.TitleServiceForgetRequest) (*pb.TitleServiceForgetResponse,
	error) {
	result, err := s.memories.ForgetTitled(ctx, metaOf(req), req.GetTitle())
	if err != nil {
		return nil, err
	}
	return &pb.TitleServiceForgetResponse{Result: s.result(result)}, nil
}
