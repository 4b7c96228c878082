package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/review"
	"github.com/memsidecar/memsidecar/internal/store"
)

type reviewServer struct {
	pb.UnsafeReviewServiceServer
	reviews *review.Service
	store   *store.Store
}

func (s *reviewServer) List(_ context.Context, req *pb.ReviewServiceListRequest) (*pb.ReviewServiceListResponse, error) {
	var check memory.Check
	spaces := []string{spaceOf(&check, req.GetSpace())}
	if err := check.Err(); err != nil {
		return nil, err
	}
	if req.GetAllSpaces() {
		spaces = s.store.Spaces()
	}
	res := &pb.ReviewServiceListResponse{}
	size := 0
	for _, space := range spaces {
		items, err := s.reviews.List(space, req.GetIncludeResolved())
		if err != nil {
			return nil, err
		}
		for i := range items {
			if items[i].Pending() {
				res.Pending++
			}
			if size += len(items[i].Before) + len(items[i].Entry.Content); len(res.Items) < memory.MaxPage && size < maxPageBytes {
				res.Items = append(res.Items, reviewToProto(&items[i]))
			}
		}
	}
	return res, nil
}

func (s *reviewServer) Get(_ context.Context, req *pb.ReviewServiceGetRequest) (*pb.ReviewServiceGetResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	check.ID("id", req.GetId())
	if err := check.Err(); err != nil {
		return nil, err
	}
	item, err := s.reviews.Get(space, req.GetId())
	if err != nil {
		return nil, err
	}
	return &pb.ReviewServiceGetResponse{Item: reviewToProto(&item), Current: memoryToProto(item.Current)}, nil
}

func (s *reviewServer) Resolve(ctx context.Context, req *pb.ReviewServiceResolveRequest) (*pb.ReviewServiceResolveResponse, error) {
	meta := store.Meta{Space: req.GetSpace(), Reason: req.GetReason(), Key: req.GetIdempotencyKey(), Request: identify(req, req.GetIdempotencyKey())}
	result, err := s.reviews.Resolve(ctx, meta, req.GetId(), req.GetAccept())
	if err != nil {
		return nil, err
	}
	return &pb.ReviewServiceResolveResponse{Result: resultToProto(result)}, nil
}

var reviewStates = map[string]pb.ReviewState{
	"":                 pb.ReviewState_REVIEW_STATE_PENDING,
	plan.StateAccepted: pb.ReviewState_REVIEW_STATE_ACCEPTED,
	plan.StateRejected: pb.ReviewState_REVIEW_STATE_REJECTED,
}

func reviewToProto(i *review.Item) *pb.ReviewItem {
	out := &pb.ReviewItem{
		Id: i.Entry.ID, Space: i.Space, Date: i.Date, ProposedAt: timeToProto(i.Entry.At), Reason: i.Reason, Action: decisions[i.Action],
		ProposedBy: i.By, Session: i.Entry.Session, TargetId: i.Target, TargetRevision: i.Revision, Before: i.Before,
		State: reviewStates[i.State], ResolvedAt: timeToProto(i.ResolvedAt), Stale: i.Pending() && i.Stale(),
	}
	if i.Action == plan.Update {
		m := i.Item().Memory
		out.Proposed = memoryToProto(&m)
	}
	return out
}
