package rpc

import (
	"cmp"
	"context"
	"errors"

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
	ack, err := ackFromProto(req.GetAck())
	if err != nil {
		return nil, err
	}
	err = s.withMirror(ctx, space, req.GetUrl(), req.GetVectors(), func() error {
		return s.share.Start(ctx, space, req.GetUrl())
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.share.SetAck(space, ack), s.share.SetLogs(space, req.GetLogs())); err != nil {
		return nil, err
	}
	return &pb.ShareServiceStartResponse{Space: s.find(space)}, nil
}

// Join takes part in a space of a database. Durable on return.
func (s *shareServer) Join(ctx context.Context, req *pb.ShareServiceJoinRequest) (*pb.ShareServiceJoinResponse, error) {
	space := cmp.Or(req.GetSpace(), req.GetRemote())
	ack, err := ackFromProto(req.GetAck())
	if err != nil {
		return nil, err
	}
	err = s.withMirror(ctx, space, req.GetUrl(), req.GetVectors(), func() error {
		return s.share.Join(ctx, req.GetRemote(), space, req.GetUrl(), req.GetReadOnly())
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.share.SetAck(space, ack), s.share.SetLogs(space, req.GetLogs())); err != nil {
		return nil, err
	}
	return &pb.ShareServiceJoinResponse{Space: s.find(space)}, nil
}

// withMirror begins to share a space and, when it is wanted, a mirror. Where there can be none nothing is shared.
func (s *shareServer) withMirror(ctx context.Context, space, url string, wanted bool, begin func() error) error {
	if !wanted {
		return begin()
	}
	if err := s.share.CanMirror(ctx, url); err != nil {
		return err
	}
	if err := begin(); err != nil {
		return err
	}
	return s.share.KeepMirror(ctx, space, true, false)
}

// Mirror has this machine keep a mirror of a shared space, or not any longer. Durable on return.
func (s *shareServer) Mirror(ctx context.Context, req *pb.ShareServiceMirrorRequest) (*pb.ShareServiceMirrorResponse, error) {
	var check memory.Check
	if req.GetOff() && req.GetRebuild() {
		check.Add("rebuild", "CONFLICT", "what is switched off cannot be rebuilt")
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	space := cmp.Or(req.GetSpace(), memory.DefaultSpace)
	if err := s.share.KeepMirror(ctx, space, !req.GetOff(), req.GetRebuild()); err != nil {
		return nil, err
	}
	return &pb.ShareServiceMirrorResponse{Space: s.find(space)}, nil
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

// SetAck chooses what replies to writes wait for. Durable on return. Error: *memory.NotFoundError.
func (s *shareServer) SetAck(
	_ context.Context,
	req *pb.ShareServiceSetAckRequest,
) (*pb.ShareServiceSetAckResponse, error) {
	space := cmp.Or(req.GetSpace(), memory.DefaultSpace)
	ack, err := ackFromProto(req.GetAck())
	if err != nil {
		return nil, err
	}
	if err := s.share.SetAck(space, ack); err != nil {
		return nil, err
	}
	return &pb.ShareServiceSetAckResponse{Space: s.find(space)}, nil
}

// SetLogs says whether daily logs are shared. Durable on return. Error: *memory.NotFoundError.
func (s *shareServer) SetLogs(
	_ context.Context,
	req *pb.ShareServiceSetLogsRequest,
) (*pb.ShareServiceSetLogsResponse, error) {
	space := cmp.Or(req.GetSpace(), memory.DefaultSpace)
	if err := s.share.SetLogs(space, !req.GetOff()); err != nil {
		return nil, err
	}
	return &pb.ShareServiceSetLogsResponse{Space: s.find(space)}, nil
}

// acks names what replies wait for in messages.
var acks = map[share.Ack]pb.ShareAck{
	share.AckLocal:  pb.ShareAck_SHARE_ACK_LOCAL,
	share.AckShared: pb.ShareAck_SHARE_ACK_SHARED,
}

// ackFromProto is what a request chooses. Error: *memory.InvalidError.
func ackFromProto(ack pb.ShareAck) (share.Ack, error) {
	if ack == pb.ShareAck_SHARE_ACK_UNSPECIFIED {
		return share.AckLocal, nil
	}
	for name, value := range acks {
		if value == ack {
			return name, nil
		}
	}
	var check memory.Check
	check.Add("ack", "UNKNOWN_VALUE", "is neither local nor shared")
	return "", check.Err()
}

// Status lists the shared spaces.
func (s *shareServer) Status(context.Context, *pb.ShareServiceStatusRequest) (*pb.ShareServiceStatusResponse, error) {
	res := &pb.ShareServiceStatusResponse{}
	for _, st := range s.share.Status() {
		if !st.Fleet || st.Waiting > 0 || st.Error != "" || !s.share.Fleet() {
			res.Spaces = append(res.Spaces, sharedSpaceToProto(&st))
		}
	}
	if f := s.share.FleetStatus(); f != nil {
		res.Fleet = &pb.Fleet{Database: f.Database, Open: int64(f.Open), Waiting: int64(f.Waiting), Failing: int64(f.Failing),
			Bytes: f.Bytes, LimitBytes: f.Limit, Opened: f.Opened, Dropped: f.Dropped, Error: f.Error}
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
	var mirror *pb.SpaceMirror
	if m := st.Mirror; m != nil {
		mirror = &pb.SpaceMirror{Position: m.Position, Pending: m.Pending, Error: m.Error}
	}
	return &pb.SharedSpace{
		Purges: purges, Mirror: mirror, Space: st.Space, Remote: st.Remote, Database: st.Database, Position: st.Position,
		Waiting:     int64(st.Waiting),
		ContactedAt: timeToProto(st.Contact), Error: st.Error, Stopped: st.Stopped, ReadOnly: st.ReadOnly, Unlisted: st.Unlisted,
		Ack: acks[st.Ack], Logs: st.Logs,
	}
}
