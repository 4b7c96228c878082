package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/reconcile"
	"github.com/memsidecar/memsidecar/internal/store"
)

// defaultEdits is the number of edits or proposals of a page that names none.
const defaultEdits = 100

// ListEdits returns a page of the edits that wait. An edit that was resolved between two pages does not shift the next
// page, because a page continues behind an id.
func (s *fileServer) ListEdits(_ context.Context,
	req *pb.FileServiceListEditsRequest) (*pb.FileServiceListEditsResponse, error) {
	var check memory.Check
	paging := pagingOf(&check, req, defaultEdits)
	if err := check.Err(); err != nil {
		return nil, err
	}
	list, err := s.edits.List()
	if err != nil {
		return nil, err
	}
	res := &pb.FileServiceListEditsResponse{}
	res.Edits, res.NextPageToken = pageOf(paging, list, func(e publish.Edit) string { return e.ID }, s.edit)
	return res, nil
}

// GetEdit returns an edit and a page of the changes that accepting it would make now. The changes are computed for
// each page and may differ when memories change between two pages. Error: memory.ErrNotFound.
func (s *fileServer) GetEdit(ctx context.Context, req *pb.FileServiceGetEditRequest) (*pb.FileServiceGetEditResponse,
	error) {
	var check memory.Check
	paging := pagingOf(&check, req, memory.MaxPage)
	if err := check.Err(); err != nil {
		return nil, err
	}
	e, changes, err := s.edits.Get(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	res := &pb.FileServiceGetEditResponse{Edit: s.edit(e)}
	res.Changes, res.NextPageToken = pageOf(paging, changes, nil, s.changeOf)
	return res, nil
}

// ResolveEdit accepts or rejects an edit. Receipts of edits are in the default space, because the id of an edit is
// unique in the data directory. Durable on return. Errors: memory.ErrNotFound, memory.ErrRefused.
func (s *fileServer) ResolveEdit(ctx context.Context,
	req *pb.FileServiceResolveEditRequest) (*pb.FileServiceResolveEditResponse, error) {
	accept, err := acceptOf(req.GetResolution())
	if err != nil {
		return nil, err
	}
	result, err := s.keyed.run(ctx, keyedMeta(req, "", "resolve an edit"), func() (store.Result, error) {
		return s.edits.Resolve(ctx, req.GetId(), accept)
	})
	if err != nil {
		return nil, err
	}
	return &pb.FileServiceResolveEditResponse{Result: s.result(result)}, nil
}

// editKinds names the kinds of edits in messages.
var editKinds = map[publish.Kind]pb.EditKind{
	publish.Refused:   pb.EditKind_EDIT_KIND_REFUSED,
	publish.Ambiguous: pb.EditKind_EDIT_KIND_AMBIGUOUS,
	publish.Pending:   pb.EditKind_EDIT_KIND_AMBIGUOUS, // what it comes to is not known yet
	publish.Conflict:  pb.EditKind_EDIT_KIND_CONFLICT,
}

// edit converts an edit. An edit that was not examined yet says so in its details.
func (s *fileServer) edit(e publish.Edit) *pb.Edit {
	details := e.Details
	if e.Kind == publish.Pending {
		details = append(details, "is not examined yet")
	}
	return &pb.Edit{
		Id: e.ID, Space: reconcile.SpaceOf(e), File: e.File, Kind: editKinds[e.Kind], Details: details,
		QuarantinePath: e.Copy,
		DetectedAt:     timeToProto(e.At), BaseOperationId: s.operationID(e.Base), InPlace: e.InPlace,
	}
}
