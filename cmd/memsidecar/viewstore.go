package main

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/view"
)

// viewStore is a daemon as a view sees it.
type viewStore struct {
	c     *client
	space string
	limit func(context.Context) (context.Context, context.CancelFunc) // of each call

	days map[string]viewDay // that were read, by date
}

type viewDay struct {
	revision int64
	day      view.Day
}

// Snapshot reads the memories page by page, again when they changed meanwhile.
func (s *viewStore) Snapshot(ctx context.Context, logs bool) (*view.Snapshot, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	info, err := s.c.admin.Info(ctx, &pb.AdminServiceInfoRequest{})
	if err != nil {
		return nil, err
	}
	snap := &view.Snapshot{Store: info.GetStore(), Epoch: info.GetEpoch()}
	for range 5 { // one that changes all the time is read once more soon
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

func (s *viewStore) revision(ctx context.Context) (int64, error) {
	resp, err := s.c.memory.GetRollingSummary(ctx, &pb.MemoryServiceGetRollingSummaryRequest{Space: s.space})
	return resp.GetRevision(), err
}

func viewMemories(in []*pb.Memory) ([]*memory.Memory, error) {
	out := make([]*memory.Memory, len(in))
	for i, m := range in {
		out[i] = &memory.Memory{
			ID: m.GetId(), Category: m.GetCategory(), Content: m.GetContent(), Title: m.GetTitle(), Tags: m.GetTags(), Salience: m.GetSalience(),
			Pinned: m.GetPinned(), Revision: m.GetRevision(), CreatedAt: m.GetCreatedAt().AsTime(),
		}
		if m.GetStructuredData() != nil {
			raw, err := m.GetStructuredData().MarshalJSON()
			if err != nil {
				return nil, fmt.Errorf("structured data of memory %s: %w", m.GetId(), err)
			}
			out[i].StructuredData = raw
		}
	}
	return out, nil
}

// logs reads the daily logs that changed since they were read.
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
			out = append([]view.Day{have.day}, out...) // they come newest first
		}
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			s.days = fresh
			return out, nil
		}
	}
}

func (s *viewStore) day(ctx context.Context, d *pb.LogDay) (viewDay, error) {
	resp, err := s.c.logs.Get(ctx, &pb.LogServiceGetRequest{Space: s.space, Date: d.GetDate()})
	if err != nil {
		return viewDay{}, err
	}
	out := viewDay{revision: resp.GetDay().GetRevision(), day: view.Day{Date: d.GetDate()}}
	for _, e := range resp.GetEntries() {
		out.day.Entries = append(out.day.Entries, &memory.Entry{
			ID: e.GetId(), Time: e.GetTime(), Type: e.GetType(), Content: e.GetContent(), Tool: e.GetTool(), Error: e.GetError(),
		})
	}
	return out, nil
}

// Apply makes changes as one operation by actor view.
func (s *viewStore) Apply(ctx context.Context, reason string, changes []view.Change) (int64, []view.Outcome, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	req := &pb.ViewServiceApplyRequest{Space: s.space, Reason: reason}
	for _, c := range changes {
		change, err := viewChange(c)
		if err != nil {
			return 0, nil, err
		}
		req.Changes = append(req.Changes, change)
	}
	resp, err := s.c.view.Apply(ctx, req)
	if err != nil {
		return 0, nil, err
	}
	outcomes := make([]view.Outcome, len(resp.GetResult().GetOutcomes()))
	for i, o := range resp.GetResult().GetOutcomes() {
		done := o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_APPLIED
		// A change of a memory that says so already is as good as made.
		same := o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_DUPLICATE && changes[i].Kind != view.Add
		outcomes[i] = view.Outcome{ID: o.GetId(), Applied: done || same, Reason: o.GetReason()}
	}
	return resp.GetResult().GetOperation(), outcomes, nil
}

func viewChange(c view.Change) (*pb.ViewChange, error) {
	switch c.Kind {
	case view.Remove:
		return &pb.ViewChange{Change: &pb.ViewChange_Removal{Removal: &pb.ViewRemoval{Id: c.ID, ExpectedRevision: c.Revision}}}, nil
	case view.Add:
		m := c.Memory
		data, err := viewStruct(m.StructuredData)
		if err != nil {
			return nil, err
		}
		add := &pb.NewMemory{Category: m.Category, Content: m.Content, Title: m.Title, Tags: m.Tags, StructuredData: data}
		for _, r := range m.Relations {
			add.Relations = append(add.Relations, &pb.Relation{Type: r.Type, Target: r.Target, Strength: &r.Strength})
		}
		if !m.CreatedAt.IsZero() {
			add.CreatedAt = timestamppb.New(m.CreatedAt)
		}
		return &pb.ViewChange{Change: &pb.ViewChange_Add{Add: add}}, nil
	}
	up := &pb.ViewUpdate{Id: c.ID, ExpectedRevision: c.Revision, Patch: &pb.MemoryPatch{}, UpdateMask: &fieldmaskpb.FieldMask{}}
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
	if c.StructuredData != nil {
		data, err := viewStruct(*c.StructuredData)
		if err != nil {
			return nil, err
		}
		up.Patch.StructuredData = data
		set("structured_data")
	}
	return &pb.ViewChange{Change: &pb.ViewChange_Update{Update: up}}, nil
}

func viewStruct(raw json.RawMessage) (*structpb.Struct, error) {
	if len(raw) == 0 {
		return nil, nil //nolint:nilnil // no data is no error
	}
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("structured data: %w", err)
	}
	return s, nil
}

// Append adds an entry to a daily log, once for each key.
func (s *viewStore) Append(ctx context.Context, key string, e memory.Entry) (int64, string, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	entry := &pb.NewLogEntry{Type: e.Type, Content: e.Content}
	if !e.At.IsZero() {
		entry.At = timestamppb.New(e.At)
	}
	resp, err := s.c.logs.Append(ctx, &pb.LogServiceAppendRequest{Space: s.space, IdempotencyKey: key, Entries: []*pb.NewLogEntry{entry}})
	if err != nil {
		return 0, "", asCLIError(err)
	}
	out := resp.GetResult().GetOutcomes()
	if len(out) != 1 {
		return 0, "", fmt.Errorf("the daemon answered %d of 1 log entries", len(out))
	}
	return resp.GetResult().GetOperation(), out[0].GetId(), nil
}

// Watch calls changed at first, and with every operation.
func (s *viewStore) Watch(ctx context.Context, changed func()) error {
	info, err := s.c.admin.Info(ctx, &pb.AdminServiceInfoRequest{})
	if err != nil {
		return err
	}
	req := &pb.OperationServiceWatchRequest{After: new(info.GetLsn()), Epoch: info.GetEpoch()}
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
