package rpc

import (
	"context"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/schedule"
)

func (s *adminServer) Compress(ctx context.Context, req *pb.AdminServiceCompressRequest) (*pb.AdminServiceCompressResponse, error) {
	report, err := s.archiver.Compress(ctx, archiver.CompressOptions{
		Space: req.GetSpace(), Days: int(req.GetDays()), MaxGroups: int(req.GetMaxGroups()), DryRun: req.GetDryRun(),
	})
	if err != nil {
		return nil, err
	}
	res := &pb.AdminServiceCompressResponse{Postponed: report.Postponed, Candidates: int32(report.Candidates)}
	for _, g := range report.Groups {
		group := &pb.CompressedGroup{Space: g.Space, Category: g.Category, Originals: g.Originals, Reason: g.Reason, Operation: g.Op}
		for _, m := range g.Results {
			group.Results = append(group.Results, &pb.MergedMemory{MemoryId: m.ID, Content: m.Content, Supersedes: m.Supersedes})
		}
		res.Groups = append(res.Groups, group)
	}
	return res, nil
}

func jobsToProto(jobs []schedule.Status) []*pb.Job {
	out := make([]*pb.Job, len(jobs))
	for i, j := range jobs {
		out[i] = &pb.Job{
			Name: j.Name, LastRun: timeToProto(j.LastRun), LastResult: j.Result, Failures: int32(j.Failures), NextRun: timeToProto(j.NextRun),
			Running: j.Running,
		}
		if j.Err != nil {
			out[i].LastError = j.Err.Error()
		}
	}
	return out
}
