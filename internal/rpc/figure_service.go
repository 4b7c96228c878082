package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/edit"
	"github.com/memsidecar/memsidecar/internal/figures"
	"github.com/memsidecar/memsidecar/internal/memory"
)

type figureServer struct {
	pb.UnsafeFigureServiceServer
	figures *figures.Service
}

func (s *figureServer) Days(ctx context.Context, req *pb.FigureServiceDaysRequest) (*pb.FigureServiceDaysResponse, error) {
	var check memory.Check
	checkSpaces(&check, req.GetSpaces())
	checkDates(&check, req.GetFrom(), req.GetTo())
	if err := check.Err(); err != nil {
		return nil, err
	}
	days, err := s.figures.Days(ctx, req.GetSpaces(), req.GetFrom(), req.GetTo())
	if err != nil {
		return nil, err
	}
	res := &pb.FigureServiceDaysResponse{HistoryFrom: days.HistoryFrom, Truncated: days.Truncated, Active: days.Active}
	for _, d := range days.Days {
		res.Days = append(res.Days, &pb.FigureDay{
			Date: d.Date, Added: d.Added, Ended: d.Ended, LogEntries: d.LogEntries, Operations: d.Operations, Accesses: d.Accesses, Messages: d.Messages,
		})
	}
	return res, nil
}

type fileServer struct {
	pb.UnsafeFileServiceServer
	edits *edit.Service
}

func (s *fileServer) Check(ctx context.Context, req *pb.FileServiceCheckRequest) (*pb.FileServiceCheckResponse, error) {
	var check memory.Check
	space := spaceOf(&check, req.GetSpace())
	if req.GetDate() != "" {
		check.Date("date", req.GetDate())
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	problems, err := s.edits.Check(ctx, space, req.GetDate(), req.GetContent())
	if err != nil {
		return nil, err
	}
	res := &pb.FileServiceCheckResponse{}
	for _, p := range problems {
		res.Problems = append(res.Problems, &pb.FileProblem{Line: int32(p.Line), Column: int32(p.Column), Path: p.Path, Message: p.Message, Refused: p.Refused})
	}
	return res, nil
}
