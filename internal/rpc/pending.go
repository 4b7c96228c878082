package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

var errPending = status.Error(codes.Unimplemented, "not built yet")

func (s *memoryServer) Purge(context.Context, *pb.MemoryServicePurgeRequest) (*pb.MemoryServicePurgeResponse, error) {
	return nil, errPending
}

func (s *adminServer) Backup(*pb.AdminServiceBackupRequest, grpc.ServerStreamingServer[pb.AdminServiceBackupResponse]) error {
	return errPending
}

func (s *adminServer) Export(*pb.AdminServiceExportRequest, grpc.ServerStreamingServer[pb.AdminServiceExportResponse]) error {
	return errPending
}

func (s *adminServer) Import(grpc.ClientStreamingServer[pb.AdminServiceImportRequest, pb.AdminServiceImportResponse]) error {
	return errPending
}
