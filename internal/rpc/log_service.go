package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	res := &pb.LogServiceGetResponse{Day: dayToProto(day)}
	switch {
	case errors.Is(err, memory.ErrNotFound) && len(archived) > 0: // deleted: its summary is left
		res.Day = deletedDay(archived[len(archived)-1])
		res.Day.EntryCount = 0
	case err != nil:
		return nil, err
	}
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
	checkDates(&check, req.GetFrom(), req.GetTo())
	if err := check.Err(); err != nil {
		return nil, err
	}
	res := &pb.LogServiceListResponse{}
	for _, d := range listedDays(s.store.Space(space), req.GetIncludeDeleted()) {
		if req.GetFrom() != "" && d.GetDate() < req.GetFrom() || req.GetTo() != "" && d.GetDate() > req.GetTo() || before != "" && d.GetDate() >= before {
			continue
		}
		if len(res.Days) == n {
			res.NextPageToken = pageToken(req, res.Days[n-1].GetDate())
			break
		}
		res.Days = append(res.Days, d)
	}
	return res, nil
}

// listedDays lists the days that have a log, and if wanted those whose log was deleted, newest first. A day whose log was deleted and begun anew has
// one: Get tells of both.
func listedDays(view *store.Space, deleted bool) []*pb.LogDay {
	var out []*pb.LogDay
	there := map[string]bool{}
	for _, d := range view.Days() {
		there[d.Date] = true
		out = append(out, dayToProto(d))
	}
	if deleted {
		for _, r := range slices.Backward(view.Archived()) { // the newest of a date counts
			if r.Deleted() && !there[r.Date] {
				there[r.Date] = true
				out = append(out, deletedDay(r))
			}
		}
	}
	slices.SortFunc(out, func(a, b *pb.LogDay) int { return strings.Compare(b.GetDate(), a.GetDate()) }) // dates sort as text does
	return out
}

// checkDates checks the bounds of days, either of which may be empty.
func checkDates(check *memory.Check, from, to string) {
	for _, bound := range []struct{ field, date string }{{"from", from}, {"to", to}} {
		if bound.date != "" {
			check.Date(bound.field, bound.date)
		}
	}
}
