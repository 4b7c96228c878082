package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/edit"
	"github.com/memsidecar/memsidecar/internal/publish"
)

func (s *adminServer) ListEdits(context.Context, *pb.AdminServiceListEditsRequest) (*pb.AdminServiceListEditsResponse, error) {
	list, err := s.edits.List()
	if err != nil {
		return nil, err
	}
	res := &pb.AdminServiceListEditsResponse{}
	for _, e := range list {
		res.Edits = append(res.Edits, editToProto(e))
	}
	return res, nil
}

func (s *adminServer) GetEdit(ctx context.Context, req *pb.AdminServiceGetEditRequest) (*pb.AdminServiceGetEditResponse, error) {
	e, changes, err := s.edits.Get(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	res := &pb.AdminServiceGetEditResponse{Edit: editToProto(e)}
	for i := range changes {
		res.Changes = append(res.Changes, changeToProto(&changes[i]))
	}
	return res, nil
}

func (s *adminServer) ResolveEdit(ctx context.Context, req *pb.AdminServiceResolveEditRequest) (*pb.AdminServiceResolveEditResponse, error) {
	result, err := s.edits.Resolve(ctx, req.GetId(), req.GetAccept())
	if err != nil {
		return nil, err
	}
	return &pb.AdminServiceResolveEditResponse{Result: resultToProto(result)}, nil
}

var editKinds = map[publish.Kind]pb.EditKind{
	publish.Refused:   pb.EditKind_EDIT_KIND_REFUSED,
	publish.Ambiguous: pb.EditKind_EDIT_KIND_AMBIGUOUS,
	publish.Pending:   pb.EditKind_EDIT_KIND_AMBIGUOUS, // what it comes to is not known yet
	publish.Conflict:  pb.EditKind_EDIT_KIND_CONFLICT,
}

func editToProto(e publish.Edit) *pb.Edit {
	details := e.Details
	if e.Kind == publish.Pending {
		details = append(details, "was not looked at yet")
	}
	return &pb.Edit{
		Id: e.ID, Space: edit.SpaceOf(e), File: e.File, Kind: editKinds[e.Kind], Details: details, Copy: e.Copy,
		NoticedAt: timeToProto(e.At), Base: e.Base, InPlace: e.InPlace,
	}
}
