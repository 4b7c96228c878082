package web

import (
	"cmp"
	"context"
	"net/http"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
)

// applied is the response of a request with several changes.
type applied struct {
	Operations []string `json:"operation_ids"` // in the order in which they were made
	Outcomes   []any    `json:"outcomes"`      // one per change
}

// applyChanges serves POST changes: additions, updates and removals of memories of one space, in one operation. A
// change that cannot be made is rejected in its outcome; the others are made.
func (s *Server) applyChanges(w http.ResponseWriter, r *http.Request) error {
	q := newQueryParams(r, "space")
	if q.err != nil {
		return q.err
	}
	data, err := readBody(r)
	if err != nil {
		return err
	}
	req := &pbalpha.ViewServiceApplyRequest{}
	if err := decodeMessage(data, req); err != nil {
		return err
	}
	if space := q.text("space"); space != "" {
		req.Space = space
	}
	req.Actor, req.IdempotencyKey = pb.Actor_ACTOR_CLIENT, r.Header.Get("Idempotency-Key")
	res, err := s.views.Apply(r.Context(), req)
	if err != nil {
		return err
	}
	out := applied{Operations: []string{}, Outcomes: messagesJSON(res.GetResult().GetOutcomes())}
	out.add(res.GetResult())
	writeJSON(w, http.StatusOK, out)
	return nil
}

// moveBody names memories to move.
type moveBody struct {
	Space    string `json:"space"`
	To       string `json:"to"`
	Memories []struct {
		ID       string `json:"id"`
		Revision int64  `json:"revision"` // 0 means any
	} `json:"memories"`
}

// moveEntries serves POST move: it adds memories to another space, then retires them in theirs. Each space has its own
// operation. A crash between the two leaves the memories in both spaces; the same request finishes the move.
//
// One outcome per memory: rejected with the reason of either step. Relations to memories that stay behind are dropped,
// because a relation does not leave its space.
func (s *Server) moveEntries(w http.ResponseWriter, r *http.Request) error {
	if q := newQueryParams(r); q.err != nil {
		return q.err
	}
	var in moveBody
	if err := decodeRequired(r, &in); err != nil {
		return err
	}
	space := cmp.Or(in.Space, "default")
	if in.To == "" || in.To == space {
		return invalidRequest("to must name another space")
	}
	ids, revisions := []string{}, map[string]int64{}
	for _, m := range in.Memories {
		ids = append(ids, m.ID)
		revisions[m.ID] = m.Revision
	}
	found, err := s.fetchEntries(r.Context(), space, ids)
	if err != nil {
		return err
	}
	out := applied{Operations: []string{}}
	outcomes, items := map[string]*pb.Outcome{}, []*pb.NewMemory{}
	for _, m := range found {
		if rev := revisions[m.GetId()]; rev != 0 && rev != m.GetRevision() {
			outcomes[m.GetId()] = rejectedOutcome(m.GetId(), "STALE_REVISION")
		} else if m.GetStatus() != pb.MemoryStatus_MEMORY_STATUS_ACTIVE {
			outcomes[m.GetId()] = rejectedOutcome(m.GetId(), "NOT_ACTIVE")
		} else {
			items = append(items, copyOf(m, revisions))
		}
	}
	if len(items) > 0 {
		if err := s.moveItems(r.Context(), space, in.To, items, revisions, outcomes, &out); err != nil {
			return err
		}
	}
	list := make([]*pb.Outcome, len(ids))
	for i, id := range ids {
		if list[i] = outcomes[id]; list[i] == nil {
			list[i] = rejectedOutcome(id, "NOT_FOUND")
		}
	}
	out.Outcomes = messagesJSON(list)
	writeJSON(w, http.StatusOK, out)
	return nil
}

// moveItems adds copies to the space to and retires the originals. It adds the outcomes and the operations.
func (s *Server) moveItems(ctx context.Context, from, to string, items []*pb.NewMemory, revisions map[string]int64,
	outcomes map[string]*pb.Outcome, out *applied,
) error {
	// What a person allowed to be stored is not redacted on its way to another space.
	added, err := s.memory.Add(ctx, &pb.MemoryServiceAddRequest{
		Space: to, Items: items, Reason: "moved from " + from, AllowSensitive: true,
	})
	if err != nil {
		return err
	}
	out.add(added.GetResult())
	removal := &pbalpha.ViewServiceApplyRequest{Space: from, Actor: pb.Actor_ACTOR_CLIENT, Reason: "moved to " + to}
	for i, o := range added.GetResult().GetOutcomes() {
		id := items[i].GetId()
		outcomes[id] = o
		if o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED {
			continue
		}
		removal.Changes = append(removal.Changes, &pbalpha.ViewChange{Change: &pbalpha.ViewChange_Removal{
			Removal: &pbalpha.ViewRemoval{Id: id, ExpectedRevision: revisions[id]},
		}})
	}
	if len(removal.GetChanges()) == 0 {
		return nil
	}
	removed, err := s.views.Apply(ctx, removal)
	if err != nil {
		return err
	}
	out.add(removed.GetResult())
	for i, o := range removed.GetResult().GetOutcomes() {
		outcomes[removal.GetChanges()[i].GetRemoval().GetId()] = o
	}
	return nil
}

// add adds the operation of a write, if it made one.
func (a *applied) add(res *pb.WriteResult) {
	if op := res.GetOperationId(); op != "" {
		a.Operations = append(a.Operations, op)
	}
}

// rejectedOutcome is the outcome of a memory that was left as it is.
func rejectedOutcome(id, reason string) *pb.Outcome {
	return &pb.Outcome{Id: id, Status: pb.OutcomeStatus_OUTCOME_STATUS_REJECTED, Reason: reason}
}

// fetchEntries returns the memories that exist among ids, of all pages.
func (s *Server) fetchEntries(ctx context.Context, space string, ids []string) ([]*pb.Memory, error) {
	var out []*pb.Memory
	for token := ""; ; {
		res, err := s.memory.Get(ctx, &pb.MemoryServiceGetRequest{Space: space, Ids: ids, PageToken: token})
		if err != nil {
			return nil, err
		}
		out = append(out, res.GetMemories()...)
		if token = res.GetNextPageToken(); token == "" {
			return out, nil
		}
	}
}

// copyOf is a memory as a new one of another space, with its relations to others that move along.
func copyOf(m *pb.Memory, along map[string]int64) *pb.NewMemory {
	out := &pb.NewMemory{
		Id: m.GetId(), Category: m.GetCategory(), Content: m.GetContent(), Salience: &m.Salience, Title: m.GetTitle(),
		Tags: m.GetTags(), Source: m.GetSource(), Context: m.GetContext(), CreatedAt: m.GetCreatedAt(),
		ContentAt: m.GetContentAt(), LastAccessed: m.GetLastAccessed(), AccessCount: m.GetAccessCount(),
		Pinned:     m.GetPinned(),
		Confidence: &m.Confidence, ExpiresAt: m.GetExpiresAt(), StructuredData: m.GetStructuredData(),
		Evidence: m.GetEvidence(), Description: m.GetDescription(),
	}
	for _, rel := range m.GetRelations() {
		if _, moves := along[rel.GetTargetId()]; moves {
			out.Relations = append(out.Relations, rel)
		}
	}
	return out
}
