package rpc

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

var errPending = status.Error(codes.Unimplemented, "not built yet")

func (s *adminServer) ListEdits(context.Context, *pb.AdminServiceListEditsRequest) (*pb.AdminServiceListEditsResponse, error) {
	return nil, errPending
}

func (s *adminServer) GetEdit(context.Context, *pb.AdminServiceGetEditRequest) (*pb.AdminServiceGetEditResponse, error) {
	return nil, errPending
}

func (s *adminServer) ResolveEdit(context.Context, *pb.AdminServiceResolveEditRequest) (*pb.AdminServiceResolveEditResponse, error) {
	return nil, errPending
}
