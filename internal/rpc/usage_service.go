package rpc

import (
	"context"
	"slices"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/service/usage"
)

// usageServer serves UsageService of memsidecar.v1alpha1.
type usageServer struct {
	pb.UnsafeUsageServiceServer
	usage *usage.Service
}

// ListDays returns a page of days, newest first. Every page counts all days again, from counts that are kept in
// memory.
func (s *usageServer) ListDays(ctx context.Context,
	req *pb.UsageServiceListDaysRequest) (*pb.UsageServiceListDaysResponse, error) {
	var check memory.Check
	checkSpaces(&check, req.GetSpaces())
	checkDates(&check, req.GetStartDate(), req.GetEndDate())
	paging := pagingOf(&check, req, memory.MaxPage)
	if err := check.Err(); err != nil {
		return nil, err
	}
	counts, err := s.usage.Days(ctx, req.GetSpaces(), req.GetStartDate(), req.GetEndDate())
	if err != nil {
		return nil, err
	}
	slices.Reverse(counts.Days)
	res := &pb.UsageServiceListDaysResponse{HistoryStartDate: counts.HistoryStart, Active: largest(counts.Active)}
	res.Days, res.NextPageToken = pageOf(paging, counts.Days, func(d usage.Day) string {
		return d.Date
	}, dayCountsToProto)
	return res, nil
}

// dayCountsToProto converts the counts of a day.
func dayCountsToProto(d usage.Day) *pb.UsageDay {
	return &pb.UsageDay{
		Date: d.Date, Added: largest(d.Added), Removed: largest(d.Removed), LogEntries: d.LogEntries,
		Operations: d.Operations,
		Accesses:   d.Accesses, Messages: d.Messages,
	}
}
