package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reconcile"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/store"
)

// fileServer serves FileService: published files, edits of them, and proposed changes of memories.
type fileServer struct {
	pb.UnsafeFileServiceServer
	encoder
	edits   *reconcile.Service
	reviews *review.Service
	store   *store.Store
	publish func(context.Context) (lsn int64, err error)
	keyed   *keyedCalls
}

// Check reports the problems of a text as if it were saved. It writes nothing, not even to quarantine.
func (s *fileServer) Check(ctx context.Context, req *pb.FileServiceCheckRequest) (*pb.FileServiceCheckResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	if req.GetDate() != "" {
		check.Date("date", req.GetDate())
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	problems, err := s.edits.Check(ctx, space, req.GetDate(), req.GetContent())
	if err != nil {
		return nil, err
	}
	res := &pb.FileServiceCheckResponse{}
	for _, p := range problems {
		res.Problems = append(res.Problems,
			&pb.FileProblem{Line: int32(p.Line), Column: int32(p.Column), Path: p.Path, Message: p.Message,
				Refused: p.Refused})
	}
	return res, nil
}

// Publish writes all published files. Durable on return.
func (s *fileServer) Publish(ctx context.Context, _ *pb.FileServicePublishRequest) (*pb.FileServicePublishResponse,
	error) {
	lsn, err := s.publish(ctx)
	if err != nil {
		return nil, err
	}
	return &pb.FileServicePublishResponse{Position: s.position(lsn)}, nil
}

// acceptOf reports whether a resolution accepts.
func acceptOf(r pb.Resolution) (bool, error) {
	var check memory.Check
	if r != pb.Resolution_RESOLUTION_ACCEPT && r != pb.Resolution_RESOLUTION_REJECT {
		check.Add("resolution", "UNKNOWN_VALUE", "must be accept or reject")
	}
	return r == pb.Resolution_RESOLUTION_ACCEPT, check.Err()
}
