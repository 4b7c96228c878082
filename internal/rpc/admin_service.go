package rpc

import (
	"context"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/backup"
	"github.com/memsidecar/memsidecar/internal/edit"
	"github.com/memsidecar/memsidecar/internal/schedule"
	"github.com/memsidecar/memsidecar/internal/transfer"
)

// Admin is how the daemon is looked after. All functions are required and safe for concurrent use.
type Admin struct {
	Info       func() Info
	Doctor     func(context.Context) ([]Finding, error)
	Check      func(context.Context) (problems []string, lsn int64, err error) // consistency of the store; without memory text
	Checkpoint func(context.Context) (lsn int64, err error)                    // durable on return
	Pause      func(paused bool) error                                         // of capture
	Stop       func()                                                          // begins a graceful stop and returns at once
}

// Info says what a daemon is.
type Info struct {
	Version, DataDir, Socket string
	PID                      int
	StartedAt                time.Time
	LSN                      int64
	Store, Epoch             string
	ReadOnly                 string // why the store is read-only, "" when it is not
	Paused                   bool
	Jobs                     []schedule.Status
	ClockDoubt               string // why ages are not trusted, "" when they are
}

// Level says how bad a finding is.
type Level string

// The levels of findings.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn"
	LevelFail Level = "fail"
)

// Finding is one thing that Doctor looked at.
type Finding struct {
	Name   string // a slug
	Level  Level
	Detail string
	Remedy string // "" when there is nothing to do
}

// apiVersion is the version of the interface.
const apiVersion = "v1"

type adminServer struct {
	pb.UnsafeAdminServiceServer
	admin    Admin
	archiver *archiver.Archiver
	backups  *backup.Source
	transfer *transfer.Service
	edits    *edit.Service
	stopping <-chan struct{}
}

func (s *adminServer) Archive(ctx context.Context, req *pb.AdminServiceArchiveRequest) (*pb.AdminServiceArchiveResponse, error) {
	report, err := s.archiver.Run(ctx, archiver.Options{
		Space: req.GetSpace(), ArchiveDays: int(req.GetArchiveDays()), DeleteDays: int(req.GetDeleteDays()),
		MaxDays: int(req.GetMaxDays()), DryRun: req.GetDryRun(),
	})
	if err != nil {
		return nil, err
	}
	expired, err := s.archiver.Expire(ctx, archiver.ExpireOptions{Space: req.GetSpace(), DryRun: req.GetDryRun()})
	if err != nil {
		return nil, err
	}
	res := archiveToProto(&report)
	if report.Waiting != nil {
		res.Waiting = report.Waiting.Error()
	}
	for _, e := range expired.Expired {
		res.Expired = append(res.Expired, &pb.ExpiredMemory{Space: e.Space, MemoryId: e.ID, Category: e.Category, Operation: e.Op})
	}
	return res, nil
}

var archiveActions = map[archiver.Action]pb.ArchiveAction{
	archiver.Archive:   pb.ArchiveAction_ARCHIVE_ACTION_ARCHIVE,
	archiver.Delete:    pb.ArchiveAction_ARCHIVE_ACTION_DELETE,
	archiver.Keep:      pb.ArchiveAction_ARCHIVE_ACTION_KEEP,
	archiver.Postponed: pb.ArchiveAction_ARCHIVE_ACTION_POSTPONED,
}

func archiveToProto(report *archiver.Report) *pb.AdminServiceArchiveResponse {
	res := &pb.AdminServiceArchiveResponse{Today: report.Today}
	for _, d := range report.Days {
		day := &pb.ArchivedDay{
			Space: d.Space, Date: d.Date, Action: archiveActions[d.Action], EntryCount: int32(d.Entries), Summary: d.Summary,
			Reason: d.Reason, Operation: d.Op, AgeDays: int32(d.Age), Note: d.Note,
		}
		for _, p := range d.Promoted {
			day.Promoted = append(day.Promoted, &pb.PromotedEntry{MemoryId: p.ID, EntryId: p.Entry, Category: p.Category, Content: p.Content})
		}
		for _, k := range d.Skipped {
			day.Skipped = append(day.Skipped, &pb.SkippedEntry{EntryId: k.Entry, Category: k.Category, Content: k.Content, Reason: k.Reason})
		}
		res.Days = append(res.Days, day)
	}
	return res
}

func (s *adminServer) Checkpoint(ctx context.Context, _ *pb.AdminServiceCheckpointRequest) (*pb.AdminServiceCheckpointResponse, error) {
	lsn, err := s.admin.Checkpoint(ctx)
	if err != nil {
		return nil, err
	}
	return &pb.AdminServiceCheckpointResponse{Lsn: lsn}, nil
}

func (s *adminServer) Check(ctx context.Context, _ *pb.AdminServiceCheckRequest) (*pb.AdminServiceCheckResponse, error) {
	problems, lsn, err := s.admin.Check(ctx)
	if err != nil {
		return nil, err
	}
	return &pb.AdminServiceCheckResponse{Problems: problems, Lsn: lsn}, nil
}

var findingLevels = map[Level]pb.FindingLevel{
	LevelOK:   pb.FindingLevel_FINDING_LEVEL_OK,
	LevelWarn: pb.FindingLevel_FINDING_LEVEL_WARN,
	LevelFail: pb.FindingLevel_FINDING_LEVEL_FAIL,
}

func (s *adminServer) Doctor(ctx context.Context, _ *pb.AdminServiceDoctorRequest) (*pb.AdminServiceDoctorResponse, error) {
	findings, err := s.admin.Doctor(ctx)
	if err != nil {
		return nil, err
	}
	res := &pb.AdminServiceDoctorResponse{}
	for _, f := range findings {
		res.Findings = append(res.Findings, &pb.Finding{Name: f.Name, Level: findingLevels[f.Level], Detail: f.Detail, Remedy: f.Remedy})
	}
	return res, nil
}

func (s *adminServer) Info(context.Context, *pb.AdminServiceInfoRequest) (*pb.AdminServiceInfoResponse, error) {
	info := s.admin.Info()
	return &pb.AdminServiceInfoResponse{
		Version: info.Version, ApiVersion: apiVersion, Pid: int64(info.PID), DataDir: info.DataDir, Socket: info.Socket,
		StartedAt: timeToProto(info.StartedAt), Lsn: info.LSN, ReadOnlyReason: info.ReadOnly, Paused: info.Paused,
		Jobs: jobsToProto(info.Jobs), ClockDoubt: info.ClockDoubt,
		Store: info.Store, Epoch: info.Epoch,
	}, nil
}

func (s *adminServer) Pause(context.Context, *pb.AdminServicePauseRequest) (*pb.AdminServicePauseResponse, error) {
	return &pb.AdminServicePauseResponse{}, s.admin.Pause(true)
}

func (s *adminServer) Resume(context.Context, *pb.AdminServiceResumeRequest) (*pb.AdminServiceResumeResponse, error) {
	return &pb.AdminServiceResumeResponse{}, s.admin.Pause(false)
}

func (s *adminServer) Stop(context.Context, *pb.AdminServiceStopRequest) (*pb.AdminServiceStopResponse, error) {
	s.admin.Stop()
	return &pb.AdminServiceStopResponse{}, nil
}
