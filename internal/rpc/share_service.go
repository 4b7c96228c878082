package rpc

import (
	"cmp"
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share"
)

// shareServer serves ShareService of memsidecar.v1alpha1.
type shareServer struct {
	pb.UnsafeShareServiceServer
	share *share.Service
}

// Start shares a space. Durable on return.
func (s *shareServer) Start(
	ctx context.Context,
	req *pb.ShareServiceStartRequest,
) (*pb.ShareServiceStartResponse, error) {
	space := cmp.Or(req.GetSpace(), memory.DefaultSpace)
	if err := s.share.Start(ctx, space, req.GetUrl()); err != nil {
		return nil, err
	}
	return &pb.ShareServiceStartResponse{Space: s.find(space)}, nil
}

// Join takes part in a space of a database. Durable on return.
func (s *shareServer) Join(ctx context.Context, req *pb.ShareServiceJoinRequest) (*pb.ShareServiceJoinResponse, error) {
	space := cmp.Or(req.GetSpace(), req.GetRemote())
	if err := s.share.Join(ctx, req.GetRemote(), space, req.GetUrl()); err != nil {
		return nil, err
	}
	return &pb.ShareServiceJoinResponse{Space: s.find(space)}, nil
}

// Leave ends the sharing of a space. Durable on return.
func (s *shareServer) Leave(
	ctx context.Context,
	req *pb.ShareServiceLeaveRequest,
) (*pb.ShareServiceLeaveResponse, error) {
	if err := s.share.Leave(ctx, cmp.Or(req.GetSpace(), memory.DefaultSpace), req.GetForce()); err != nil {
		return nil, err
	}
	return &pb.ShareServiceLeaveResponse{}, nil
}

// Status lists the shared spaces.
func (s *shareServer) Status(context.Context, *pb.ShareServiceStatusRequest) (*pb.ShareServiceStatusResponse, error) {
	res := &pb.ShareServiceStatusResponse{}
	for _, st := range s.share.Status() {
		res.Spaces = append(res.Spaces, sharedSpaceToProto(&st))
	}
	return res, nil
}

// find returns the state of one space, nil when it was left meanwhile.
func (s *shareServer) find(space string) *pb.SharedSpace {
	for _, st := range s.share.Status() {
		if st.Space == space {
			return sharedSpaceToProto(&st)
		}
	}
	return nil
}

// sharedSpaceToProto converts the state of a space.
func sharedSpaceToProto(st *share.Status) *pb.SharedSpace {
	var purges []*pb.SharedPurge
	for _, p := range st.Purges {
		purges = append(purges, &pb.SharedPurge{Position: p.Position, PurgedAt: timeToProto(p.At), Confirmed: p.Confirmed,
			Missing: p.Missing})
	}
	return &pb.SharedSpace{
		Purges: purges, Space: st.Space, Remote: st.Remote, Database: st.Database, Position: st.Position,
		Waiting:     int64(st.Waiting),
		ContactedAt: timeToProto(st.Contact), Error: st.Error, Stopped: st.Stopped,
	}
}
