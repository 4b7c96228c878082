package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/reflector/review"
	"github.com/memsidecar/memsidecar/internal/store"
)

// ListProposals returns a page of proposals, space by space in the order of names, oldest first within a space.
// pending counts those of all pages.
func (s *fileServer) ListProposals(_ context.Context,
	req *pb.FileServiceListProposalsRequest) (*pb.FileServiceListProposalsResponse, error) {
	var check memory.Check
	spaces := []string{spaceOf(&check, req.GetSpace())}
	if req.GetAllSpaces() && req.GetSpace() != "" {
		check.Add("all_spaces", "CONFLICT", "cannot be given together with space")
	}
	paging := pagingOf(&check, req, defaultEdits)
	if err := check.Err(); err != nil {
		return nil, err
	}
	if req.GetAllSpaces() {
		spaces = s.store.Spaces()
	}
	res := &pb.FileServiceListProposalsResponse{}
	var all []review.Item
	for _, space := range spaces {
		items, err := s.reviews.List(space, req.GetIncludeResolved())
		if err != nil {
			return nil, err
		}
		for i := range items {
			if items[i].Pending() {
				res.Pending++
			}
		}
		all = append(all, items...)
	}
	// Entry ids are unique within a space only.
	id := func(i review.Item) string { return i.Space + " " + i.Entry.ID }
	res.Proposals, res.NextPageToken = pageOf(paging, all, id, proposalToProto)
	return res, nil
}

// GetProposal returns a proposal with its memory now. Error: memory.ErrNotFound.
func (s *fileServer) GetProposal(_ context.Context,
	req *pb.FileServiceGetProposalRequest) (*pb.FileServiceGetProposalResponse, error) {
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
	return &pb.FileServiceGetProposalResponse{Proposal: proposalToProto(item), Current: memoryToProto(item.Current)},
		nil
}

// ResolveProposal accepts or rejects a proposal. Durable on return. Errors: memory.ErrNotFound, *memory.StaleError
// when the memory changed since.
func (s *fileServer) ResolveProposal(ctx context.Context,
	req *pb.FileServiceResolveProposalRequest) (*pb.FileServiceResolveProposalResponse, error) {
	accept, err := acceptOf(req.GetResolution())
	if err != nil {
		return nil, err
	}
	decision := review.Reject
	if accept {
		decision = review.Accept
	}
	meta := store.Meta{Space: req.GetSpace(), Reason: req.GetReason(), Key: req.GetIdempotencyKey(),
		Request: identify(req, req.GetIdempotencyKey())}
	result, err := s.reviews.Resolve(ctx, meta, req.GetId(), decision)
	if err != nil {
		return nil, err
	}
	return &pb.FileServiceResolveProposalResponse{Result: s.result(result)}, nil
}

// proposalStates names the states of proposals in messages; "" is a proposal that waits.
var proposalStates = map[string]pb.ProposalState{
	"":                  pb.ProposalState_PROPOSAL_STATE_PENDING,
	guard.StateAccepted: pb.ProposalState_PROPOSAL_STATE_ACCEPTED,
	guard.StateRejected: pb.ProposalState_PROPOSAL_STATE_REJECTED,
}

// proposalToProto converts a proposal. It is stale only while it waits: a resolved one has done what it could.
func proposalToProto(i review.Item) *pb.Proposal {
	out := &pb.Proposal{
		Id: i.Entry.ID, Space: i.Space, LogDate: i.Date, ProposedAt: timeToProto(i.Entry.At), Reason: i.Reason,
		Decision:   decisions[i.Action],
		ProposedBy: deciders[i.By], SessionId: i.Entry.Session, TargetId: i.Target, TargetRevision: i.Revision,
		Before: i.Before,
		State:  proposalStates[i.State], ResolvedAt: timeToProto(i.ResolvedAt), Stale: i.Pending() && i.Stale(),
		ReplacedBy: i.ReplacedBy,
	}
	if i.Action == guard.Update {
		m := i.Item().Memory
		out.Proposed = memoryToProto(&m)
	}
	return out
}
