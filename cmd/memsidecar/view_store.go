package main

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	pbalpha "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/client/view"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// viewStore implements view.Store over gRPC.
type viewStore struct {
	c     *client
	space string
	limit func(context.Context) (context.Context, context.CancelFunc) // applies the timeout of one call

	days map[string]viewDay // daily logs read so far, by date
}

// viewDay is a daily log with the revision at which it was read.
type viewDay struct {
	revision int64
	day      view.Day
}

// Snapshot reads all memories page by page. It reads again if the space changed meanwhile, at most five times.
func (s *viewStore) Snapshot(ctx context.Context, logs bool) (*view.Snapshot, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	info, err := s.c.admin.Info(ctx, &pb.AdminServiceInfoRequest{})
	if err != nil {
		return nil, err
	}
	snap := &view.Snapshot{Store: info.GetStoreId(), Epoch: info.GetEpoch()}
	for range 5 { // the next sync reads a space that keeps changing
		before, err := s.revision(ctx)
		if err != nil {
			return nil, err
		}
		all, err := listMemories(ctx, s.c, &pb.MemoryServiceListRequest{Space: s.space}, 0)
		if err != nil {
			return nil, err
		}
		after, err := s.revision(ctx)
		if err != nil {
			return nil, err
		}
		if snap.Memories, err = viewMemories(all.GetMemories()); err != nil {
			return nil, err
		}
		if before == after {
			break
		}
	}
	if logs {
		snap.Days, err = s.logs(ctx)
	}
	return snap, err
}

// revision is the revision of the space. It changes with every operation in the space.
func (s *viewStore) revision(ctx context.Context) (int64, error) {
	resp, err := s.c.memory.GetSummary(ctx, &pb.MemoryServiceGetSummaryRequest{Space: s.space})
	return resp.GetRevision(), err
}

// viewMemories converts memories for the view.
func viewMemories(in []*pb.Memory) ([]*memory.Memory, error) {
	out := make([]*memory.Memory, len(in))
	for i, m := range in {
		out[i] = &memory.Memory{
			ID: m.GetId(), Category: m.GetCategory(), Content: m.GetContent(), Title: m.GetTitle(), Tags: m.GetTags(),
			Salience: m.GetSalience(),
			Pinned:   m.GetPinned(), Revision: m.GetRevision(), CreatedAt: m.GetCreatedAt().AsTime(),
			More: &memory.More{Description: m.GetDescription(), ContentAt: m.GetContentAt().AsTime()},
		}
		if m.GetStructuredData() != nil {
			raw, err := m.GetStructuredData().MarshalJSON()
			if err != nil {
				return nil, fmt.Errorf("structured data of memory %s: %w", m.GetId(), err)
			}
			out[i].SetStructuredData(raw)
		}
	}
	return out, nil
}

// logs reads the daily logs that changed since the last call.
func (s *viewStore) logs(ctx context.Context) ([]view.Day, error) {
	req := &pb.LogServiceListRequest{Space: s.space, PageSize: memory.MaxPage}
	fresh := map[string]viewDay{}
	var out []view.Day
	for {
		page, err := s.c.logs.List(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, d := range page.GetDays() {
			have, ok := s.days[d.GetDate()]
			if !ok || have.revision != d.GetRevision() {
				if have, err = s.day(ctx, d); err != nil {
					return nil, err
				}
			}
			fresh[d.GetDate()] = have
			out = append([]view.Day{have.day}, out...) // the daemon lists newest first
		}
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			s.days = fresh
			return out, nil
		}
	}
}

// day reads one daily log.
func (s *viewStore) day(ctx context.Context, d *pb.LogDay) (viewDay, error) {
	resp, err := getLog(ctx, s.c, s.space, d.GetDate())
	if err != nil {
		return viewDay{}, err
	}
	out := viewDay{revision: resp.GetDay().GetRevision(), day: view.Day{Date: d.GetDate()}}
	for _, e := range resp.GetEntries() {
		out.day.Entries = append(out.day.Entries, &memory.Entry{
			ID: e.GetId(), Time: e.GetTime(), Type: e.GetType(), Content: e.GetContent(), Tool: e.GetTool(),
			Error: e.GetError(),
		})
	}
	return out, nil
}

// Apply makes the changes as one operation with actor "view".
func (s *viewStore) Apply(ctx context.Context, reason string, changes []view.Change) (string, []view.Outcome, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	req := &pbalpha.ViewServiceApplyRequest{Space: s.space, Reason: reason}
	for _, c := range changes {
		req.Changes = append(req.Changes, viewChange(c))
	}
	resp, err := s.c.view.Apply(ctx, req)
	if err != nil {
		return "", nil, err
	}
	outcomes := make([]view.Outcome, len(resp.GetResult().GetOutcomes()))
	for i, o := range resp.GetResult().GetOutcomes() {
		done := o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_APPLIED
		// An update to the state that the memory already has counts as applied.
		same := o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE && changes[i].Kind != view.Add
		outcomes[i] = view.Outcome{ID: o.GetId(), Applied: done || same, Reason: o.GetReason()}
	}
	return resp.GetResult().GetOperationId(), outcomes, nil
}

// viewChange converts a change of the view for the API.
func viewChange(c view.Change) *pbalpha.ViewChange {
	switch c.Kind {
	case view.Remove:
		return &pbalpha.ViewChange{Change: &pbalpha.ViewChange_Removal{
			Removal: &pbalpha.ViewRemoval{Id: c.ID, ExpectedRevision: c.Revision}}}
	case view.Add:
		m := c.Memory
		add := &pb.NewMemory{Category: m.Category, Content: m.Content, Title: m.Title, Description: m.Description(),
			Tags: m.Tags}
		for _, r := range m.Relations() {
			add.Relations = append(add.Relations, &pb.Relation{Type: r.Type, TargetId: r.Target, Strength: &r.Strength})
		}
		if !m.CreatedAt.IsZero() {
			add.CreatedAt = timestamppb.New(m.CreatedAt)
		}
		return &pbalpha.ViewChange{Change: &pbalpha.ViewChange_Add{Add: add}}
	}
	up := &pbalpha.ViewUpdate{Id: c.ID, ExpectedRevision: c.Revision, Patch: &pb.MemoryPatch{},
		UpdateMask: &fieldmaskpb.FieldMask{}}
	set := func(name string) { up.UpdateMask.Paths = append(up.UpdateMask.Paths, name) }
	if c.Content != nil {
		up.Patch.Content = c.Content
		set("content")
	}
	if c.Title != nil {
		up.Patch.Title = c.Title
		set("title")
	}
	if c.Category != nil {
		up.Patch.Category = c.Category
		set("category")
	}
	if c.Tags != nil {
		up.Patch.Tags = *c.Tags
		set("tags")
	}
	if c.Description != nil {
		up.Patch.Description = c.Description
		set("description")
	}
	return &pbalpha.ViewChange{Change: &pbalpha.ViewChange_Update{Update: up}}
}

// Append adds an entry to a daily log, once per key.
func (s *viewStore) Append(ctx context.Context, key string, e memory.Entry) (string, string, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	entry := &pb.NewLogEntry{Type: e.Type, Content: e.Content}
	if !e.At.IsZero() {
		entry.At = timestamppb.New(e.At)
	}
	resp, err := s.c.logs.Append(ctx, &pb.LogServiceAppendRequest{Space: s.space, IdempotencyKey: key,
		Entries: []*pb.NewLogEntry{entry}})
	if err != nil {
		return "", "", asCLIError(err)
	}
	out := resp.GetResult().GetOutcomes()
	if len(out) != 1 {
		return "", "", fmt.Errorf("the daemon returned %d outcomes for one log entry", len(out))
	}
	return resp.GetResult().GetOperationId(), out[0].GetId(), nil
}

// Watch calls changed once at the start and after every operation, until ctx ends.
func (s *viewStore) Watch(ctx context.Context, changed func()) error {
	info, err := s.c.admin.Info(ctx, &pb.AdminServiceInfoRequest{})
	if err != nil {
		return err
	}
	req := &pb.OperationServiceWatchRequest{Cursor: info.GetPosition()}
	if s.space != "" {
		req.Spaces = []string{s.space}
	}
	stream, err := s.c.ops.Watch(ctx, req)
	if err != nil {
		return err
	}
	changed()
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		changed()
	}
}
