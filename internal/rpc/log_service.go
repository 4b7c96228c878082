package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
)

// defaultDays is the number of days of a page that names none.
const defaultDays = 100

// logServer serves LogService.
type logServer struct {
	pb.UnsafeLogServiceServer
	encoder
	memories *memorysvc.Service
	store    *store.Store
	now      func() time.Time
}

// Append adds entries to the logs of their days. Durable on return.
func (s *logServer) Append(ctx context.Context, req *pb.LogServiceAppendRequest) (*pb.LogServiceAppendResponse, error) {
	var check memory.Check
	entries := make([]*memory.Entry, len(req.GetEntries()))
	for i, e := range req.GetEntries() {
		entries[i] = entryFromProto(&check, fmt.Sprintf("entries[%d].", i), e)
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	result, err := s.memories.AppendLog(ctx, metaOf(req), entries, req.GetAllowSensitive())
	if err != nil {
		return nil, err
	}
	return &pb.LogServiceAppendResponse{Result: s.result(result)}, nil
}

// Get returns a page of a day. Entries that are appended between two pages come on a later page; entries that an edit
// removes do not shift the next page. Error: memory.ErrNotFound for a day without log and without record of one.
func (s *logServer) Get(_ context.Context, req *pb.LogServiceGetRequest) (*pb.LogServiceGetResponse, error) {
	var check memory.Check
	space, date := spaceOf(&check, req.GetSpace()), req.GetDate()
	if date == "" {
		date = s.now().Format(memory.DateLayout)
	}
	check.Date("date", date)
	paging := pagingOf(&check, req, memory.MaxPage)
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
	if paging.first() {
		for _, r := range archived {
			res.Archived = append(res.Archived, s.archived(r))
		}
	}
	res.Entries, res.NextPageToken = pageOf(paging, entries, func(e *memory.Entry) string { return e.ID }, entryToProto)
	return res, nil
}

// List returns a page of days, newest first. Dates identify days, so that new days do not shift the next page.
func (s *logServer) List(_ context.Context, req *pb.LogServiceListRequest) (*pb.LogServiceListResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	paging := pagingOf(&check, req, defaultDays)
	start, end := req.GetStartDate(), req.GetEndDate()
	checkDates(&check, start, end)
	if err := check.Err(); err != nil {
		return nil, err
	}
	days := slices.DeleteFunc(listedDays(s.store.Space(space), req.GetIncludeDeleted()), func(d *pb.LogDay) bool {
		return start != "" && d.GetDate() < start || end != "" && d.GetDate() > end
	})
	res := &pb.LogServiceListResponse{}
	res.Days, res.NextPageToken = pageOf(paging, days, (*pb.LogDay).GetDate, func(d *pb.LogDay) *pb.LogDay { return d })
	return res, nil
}

// listedDays lists the days that have a log, and if wanted those whose log was deleted, newest first. A day whose log
// was deleted and begun anew has one: Get tells of both.
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
	// dates sort as text does
	slices.SortFunc(out, func(a, b *pb.LogDay) int { return strings.Compare(b.GetDate(), a.GetDate()) })
	return out
}
