// Package process starts servers on Unix sockets as child processes, the daemon above all, for the programs that
// measure them.
package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"

	memsidecarv1 "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// MaxMessage is the daemon's limit of a message, in bytes.
const MaxMessage = 16 << 20

// patience is how long a server may take to start or to stop.
const patience = 2 * time.Minute

var errEnded = errors.New("without an error")

// ErrOneProcessor is returned where there are not two processors to tell apart.
var ErrOneProcessor = errors.New("this process may use one processor only")

// Server is a child process that serves on a Unix socket, and connections to it.
type Server struct {
	Socket string
	Began  time.Time // when the process was started

	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended; exit is set then
	exit   error
	end    func() error // asks it to end
	conns  []*grpc.ClientConn
	read   int64 // of the log
}

// Build builds a program of this module, such as cmd/memsidecar, into dir as it is released, and returns its path. What
// the compiler says goes to stderr.
func Build(ctx context.Context, dir, program string, stderr io.Writer) (string, error) {
	bin := filepath.Join(dir, filepath.Base(program))
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin,
		"github.com/memsidecar/memsidecar/"+program)
	build.Stderr = stderr
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w", program, err)
	}
	return bin, nil
}

// Launch starts the daemon bin on the directory data and does not wait until it serves; Ready does. The socket's
// directory is made; the log is data.log. No configuration of this machine is read. env is added to the environment.
func Launch(bin, data, socket string, env ...string) (*Server, error) {
	s := &Server{Socket: socket}
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return nil, err
	}
	log, err := os.Create(data + ".log")
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own
	cmd := exec.Command(bin, "daemon", "serve", "--data", data, "--socket", socket)
	cmd.Stdout, cmd.Stderr = log, log
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MEMSIDECAR_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "XDG_CONFIG_HOME="+data+".config"), env...)
	if err := s.spawn(cmd, func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }); err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	return s, nil
}

// Start starts the daemon as Launch does and waits until it serves.
func Start(ctx context.Context, bin, data, socket string, env ...string) (*Server, error) {
	s, err := Launch(bin, data, socket, env...)
	if err != nil {
		return nil, err
	}
	if err := s.Ready(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Run starts cmd, which serves on socket until end is called, and waits until it serves.
func Run(ctx context.Context, cmd *exec.Cmd, socket string, end func() error) (*Server, error) {
	s := &Server{Socket: socket}
	if err := s.spawn(cmd, end); err != nil {
		return nil, err
	}
	if err := s.Ready(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// PID of the process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// spawn starts the process and waits for its end in the background, so that a server that dies during a
// measurement is noticed at once and not by a timeout.
func (s *Server) spawn(cmd *exec.Cmd, end func() error) error {
	s.cmd, s.end, s.exited, s.Began = cmd, end, make(chan struct{}), time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		s.exit = cmd.Wait()
		close(s.exited)
	}()
	return nil
}

// Ready waits until the health service says SERVING.
func (s *Server) Ready(ctx context.Context) error {
	conn, err := s.Client(0)
	if err != nil {
		return err
	}
	return s.Poll(ctx, func(ctx context.Context) error {
		res, err := healthgrpc.NewHealthClient(conn).Check(ctx, &healthgrpc.HealthCheckRequest{})
		if err == nil && res.GetStatus() != healthgrpc.HealthCheckResponse_SERVING {
			err = errors.New(res.GetStatus().String())
		}
		return err
	})
}

// Poll calls f, a millisecond apart, until it succeeds, the process ends or patience does.
func (s *Server) Poll(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("the process ended: %w: %s", cmp.Or(s.exit, errEnded), s.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// Handled is how long the calls of a method took inside a daemon, as its log tells, since it was asked last. The full
// name of the method is /PACKAGE.SERVICE/METHOD.
func (s *Server) Handled(method string) (took []time.Duration, err error) {
	f, ok := s.cmd.Stderr.(*os.File)
	if !ok {
		return nil, errors.New("the process has no log")
	}
	log, err := os.ReadFile(f.Name())
	if err != nil {
		return nil, err
	}
	from := s.read
	s.read = int64(len(log))
	for line := range bytes.Lines(log[from:]) {
		var call struct {
			Method string
			Took   time.Duration
		}
		if bytes.Contains(line, []byte(method)) && json.Unmarshal(line, &call) == nil && call.Method == method {
			took = append(took, call.Took)
		}
	}
	return took, nil
}

// lastWords is the end of what the process wrote to its log.
func (s *Server) lastWords() string {
	f, ok := s.cmd.Stderr.(*os.File)
	if !ok {
		return ""
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-500):])
}

// Client is the connection of client i, made when it is first asked for. Not safe for concurrent use.
func (s *Server) Client(i int) (*grpc.ClientConn, error) {
	for len(s.conns) <= i {
		conn, err := grpc.NewClient("unix://"+s.Socket,
			grpc.WithTransportCredentials(Credentials()),
			grpc.WithStaticStreamWindowSize(unixsock.Window), grpc.WithStaticConnWindowSize(unixsock.Window),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(2*MaxMessage)),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1.2,
					MaxDelay: 5 * time.Millisecond},
				MinConnectTimeout: 20 * time.Second,
			}),
		)
		if err != nil {
			return nil, err
		}
		s.conns = append(s.conns, conn)
	}
	return s.conns[i], nil
}

// Credentials are those of the daemon and its clients, so that the echo checks its peer as they do.
func Credentials() credentials.TransportCredentials {
	return unixsock.NewCredentials([]uint32{uint32(os.Getuid())}, unixsock.PeerOf, slog.New(slog.DiscardHandler))
}

// Memories returns a client of the memory service for each of n connections: an agent has a connection of its own.
func (s *Server) Memories(n int) ([]memsidecarv1.MemoryServiceClient, error) {
	out := make([]memsidecarv1.MemoryServiceClient, n)
	for i := range out {
		conn, err := s.Client(i)
		if err != nil {
			return nil, err
		}
		out[i] = memsidecarv1.NewMemoryServiceClient(conn)
	}
	return out, nil
}

// Kill ends the process by SIGKILL, and waits until it is gone and its lock is free. The connections stay.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	<-s.exited
	return nil
}

// Stop ends the process as a service manager would, and waits for it. Stopping twice does nothing.
func (s *Server) Stop() error {
	for _, c := range s.conns {
		c.Close() //nolint:errcheck // the process is about to go
	}
	s.conns = nil
	select {
	case <-s.exited:
		return nil
	default:
	}
	if err := s.end(); err != nil {
		return err
	}
	select {
	case <-s.exited:
		if s.exit != nil {
			return fmt.Errorf("%w: %s", s.exit, s.lastWords())
		}
		return nil
	case <-time.After(patience):
		return errors.Join(errors.New("the process did not stop"), s.cmd.Process.Kill())
	}
}
