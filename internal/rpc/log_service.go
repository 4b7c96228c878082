package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memories"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// defaultDays is the number of days of a page that names none.
const defaultDays = 100

type logServer struct {
	pb.UnsafeLogServiceServer
	memories *memories.Service
	store    *store.Store
	now      func() time.Time
}

func (s *logServer) Append(ctx context.Context, req *pb.LogServiceAppendRequest) (*pb.LogServiceAppendResponse, error) {
	var check memory.Check
	entries := make([]*memory.Entry, len(req.GetEntries()))
	for i, e := range req.GetEntries() {
		entries[i] = entryFromProto(&check, fmt.Sprintf("entries[%d].", i), e)
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	key := req.GetIdempotencyKey()
	result, err := s.memories.AppendLog(ctx, store.Meta{
		Space: req.GetSpace(), Actor: journal.ActorClient, Session: req.GetSession(), Key: key, Request: identify(req, key),
	}, entries)
	if err != nil {
		return nil, err
	}
	return &pb.LogServiceAppendResponse{Result: resultToProto(result)}, nil
}

func (s *logServer) Get(_ context.Context, req *pb.LogServiceGetRequest) (*pb.LogServiceGetResponse, error) {
	var check memory.Check
	space, date := spaceOf(&check, req.GetSpace()), req.GetDate()
	if date == "" {
		date = s.now().Format(memory.DateLayout)
	}
	check.Date("date", date)
	if err := check.Err(); err != nil {
		return nil, err
	}
	day, entries, err := s.store.Space(space).Log(date)
	archived := s.store.Space(space).ArchivedOn(date)
	switch {
	case errors.Is(err, memory.ErrNotFound) && len(archived) > 0: // deleted: its summary is left
		day = &memory.Day{Date: date, Archived: true, Summary: archived[len(archived)-1].Summary}
	case err != nil:
		return nil, err
	}
	res := &pb.LogServiceGetResponse{Day: dayToProto(day)}
	for _, r := range archived {
		res.Archived = append(res.Archived, archivedToProto(r))
	}
	for _, e := range entries {
		res.Entries = append(res.Entries, entryToProto(e))
	}
	return res, nil
}

func (s *logServer) List(_ context.Context, req *pb.LogServiceListRequest) (*pb.LogServiceListResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	n := pageSize(&check, "page_size", req.GetPageSize(), defaultDays)
	before := pageKey(&check, req, req.GetPageToken())
	for _, bound := range []struct{ field, date string }{{"from", req.GetFrom()}, {"to", req.GetTo()}} {
		if bound.date != "" {
			check.Date(bound.field, bound.date)
		}
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	res := &pb.LogServiceListResponse{}
	days := s.store.Space(space).Days()
	slices.Reverse(days)
	for _, d := range days { // dates sort as text does
		if req.GetFrom() != "" && d.Date < req.GetFrom() || req.GetTo() != "" && d.Date > req.GetTo() || before != "" && d.Date >= before {
			continue
		}
		if len(res.Days) == n {
			res.NextPageToken = pageToken(req, res.Days[n-1].GetDate())
			break
		}
		res.Days = append(res.Days, dayToProto(d))
	}
	return res, nil
}
