package rpc

import (
	"context"
	"time"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/archiver"
	"github.com/memsidecar/memsidecar/internal/archiver/scheduler"
	"github.com/memsidecar/memsidecar/internal/service/transfer"
	"github.com/memsidecar/memsidecar/internal/store/backup"
)

// Admin is how the daemon is looked after. All functions are required and safe for concurrent use.
type Admin struct {
	Info   func() Info
	Doctor func(context.Context) ([]Finding, error)
	// consistency of the store; without memory text
	Check func(context.Context) (problems []string, lsn int64, err error)
	// writes all published files; durable on return
	Publish func(context.Context) (lsn int64, err error)
	// pauses or resumes a host, or capture when host is ""; durable on return
	Pause func(host string, paused bool) error
	// begins a graceful stop and returns at once
	Stop func()
}

// Info says what a daemon is.
type Info struct {
	Version, DataDir, Socket string
	PID                      int
	StartedAt                time.Time
	LSN                      int64
	Store, Epoch             string
	ReadOnly                 string   // why the store is read-only, "" when it is not
	Paused                   bool     // capture
	PausedHosts              []string // sorted
	Jobs                     []scheduler.Status
	ClockDoubt               string // why ages are not trusted, "" when they are
}

// apiVersion is the version of the interface.
const apiVersion = "v1"

// adminServer serves AdminService. What is not a service of its own comes from the daemon through Admin.
type adminServer struct {
	pb.UnsafeAdminServiceServer
	encoder
	admin    Admin
	archiver *archiver.Archiver
	backups  *backup.Source
	transfer *transfer.Service
	keyed    *keyedCalls
	stopping <-chan struct{}
}

// maxProblems bounds the problems of a response.
const maxProblems = 1000

// Check verifies the store. Only the first problems are sent; the count covers all of them.
func (s *adminServer) Check(ctx context.Context, _ *pb.AdminServiceCheckRequest) (*pb.AdminServiceCheckResponse,
	error) {
	problems, lsn, err := s.admin.Check(ctx)
	if err != nil {
		return nil, err
	}
	return &pb.AdminServiceCheckResponse{
		Problems: problems[:min(len(problems), maxProblems)], ProblemCount: int32(len(problems)),
		Position: s.position(lsn),
	}, nil
}

// Doctor returns the findings in the order in which the daemon made them.
func (s *adminServer) Doctor(ctx context.Context, _ *pb.AdminServiceDoctorRequest) (*pb.AdminServiceDoctorResponse,
	error) {
	findings, err := s.admin.Doctor(ctx)
	if err != nil {
		return nil, err
	}
	res := &pb.AdminServiceDoctorResponse{}
	for _, f := range findings {
		res.Findings = append(res.Findings, findingToProto(f))
	}
	return res, nil
}

// Info describes the daemon. It reads nothing from disk, so that it answers while the disk hangs.
func (s *adminServer) Info(context.Context, *pb.AdminServiceInfoRequest) (*pb.AdminServiceInfoResponse, error) {
	info := s.admin.Info()
	return &pb.AdminServiceInfoResponse{
		Version: info.Version, ApiVersion: apiVersion, Pid: int64(info.PID), DataDir: info.DataDir,
		SocketPath: info.Socket,
		StartedAt:  timeToProto(info.StartedAt), Position: s.position(info.LSN), ReadOnlyReason: info.ReadOnly,
		Paused: info.Paused, PausedHosts: info.PausedHosts,
		Jobs: jobsToProto(info.Jobs), ClockWarning: info.ClockDoubt,
		StoreId: info.Store, Epoch: info.Epoch,
	}, nil
}

// Pause stops capture, or pauses a host. A second pause changes nothing. Durable on return.
func (s *adminServer) Pause(_ context.Context, req *pb.AdminServicePauseRequest) (*pb.AdminServicePauseResponse, error) {
	return &pb.AdminServicePauseResponse{}, s.admin.Pause(req.GetHost(), true)
}

// Resume ends a pause, if there is one. Durable on return.
func (s *adminServer) Resume(_ context.Context, req *pb.AdminServiceResumeRequest) (*pb.AdminServiceResumeResponse,
	error) {
	return &pb.AdminServiceResumeResponse{}, s.admin.Pause(req.GetHost(), false)
}

// Stop begins to stop the daemon and answers before it ends: the server waits for calls in progress.
func (s *adminServer) Stop(context.Context, *pb.AdminServiceStopRequest) (*pb.AdminServiceStopResponse, error) {
	s.admin.Stop()
	return &pb.AdminServiceStopResponse{}, nil
}

// jobsToProto converts the state of the periodic jobs.
func jobsToProto(jobs []scheduler.Status) []*pb.Job {
	out := make([]*pb.Job, len(jobs))
	for i, j := range jobs {
		out[i] = &pb.Job{
			Name: j.Name, LastRun: timeToProto(j.LastRun), LastResult: j.Result, Failures: int32(j.Failures),
			NextRun: timeToProto(j.NextRun),
			Running: j.Running,
		}
		if j.Err != nil {
			out[i].LastError = j.Err.Error()
		}
	}
	return out
}
