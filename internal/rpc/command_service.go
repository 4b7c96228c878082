package rpc

import (
	"context"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1alpha1"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// Command is a command line that the daemon runs for another process of the same user.
type Command struct {
	Args      []string // without the program's name
	Env       []string // as NAME=VALUE
	Dir       string   // working directory
	ParentPID int      // parent of the calling process
	Stdin     []byte
	// Slow tells the caller that the command is well and may take long. It may be called at any time until RunCommand
	// returns, and more than once.
	Slow func()
}

// RunCommand runs a command and returns its standard output. Errors: memory.ErrOwnProcess when the caller must start
// the program itself, and nothing was done; memory.ErrBusy.
type RunCommand func(ctx context.Context, c Command) ([]byte, error)

// commandServer serves CommandService of memsidecar.v1alpha1.
type commandServer struct {
	pb.UnsafeCommandServiceServer
	run RunCommand
}

// Run runs a command for a process of the daemon's own user.
func (s *commandServer) Run(ctx context.Context, req *pb.CommandServiceRunRequest) (*pb.CommandServiceRunResponse,
	error) {
	if p, ok := unixsock.FromContext(ctx); !ok || p.UID != uint32(os.Getuid()) {
		return nil, fmt.Errorf("%w: commands read files with the daemon's rights", memory.ErrUnauthorized)
	}
	if s.run == nil {
		return nil, memory.ErrOwnProcess
	}
	output, err := s.run(ctx, Command{
		Args: req.GetArguments(), Env: req.GetEnvironment(), Dir: req.GetDirectory(),
		ParentPID: int(req.GetParentPid()), Stdin: req.GetInput(),
		Slow: func() { _ = grpc.SendHeader(ctx, metadata.MD{}) }, // fails when it was sent, which is enough
	})
	if err != nil {
		return nil, err
	}
	return &pb.CommandServiceRunResponse{Output: output}, nil
}
