package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"github.com/memsidecar/memsidecar/internal/unixsock"
)

// maxMessage is the daemon's limit of a message, in bytes.
const maxMessage = 16 << 20

// patience is how long a server may take to start or to stop.
const patience = 2 * time.Minute

var errEnded = errors.New("without an error")

// server is a child process that serves on a Unix socket, and connections to it.
type server struct {
	socket string
	cmd    *exec.Cmd
	began  time.Time     // when the process was started
	exited chan struct{} // closed when it has ended; exit is set then
	exit   error
	end    func() error // asks it to end
	conns  []*grpc.ClientConn
}

// start starts a daemon on data and waits until it serves.
func (b *bench) start(ctx context.Context, data string) (*server, error) {
	s, err := b.launch(data)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// launch starts a daemon on data and does not wait.
func (b *bench) launch(data string) (*server, error) {
	s := &server{socket: filepath.Join(b.dir, fmt.Sprintf("s%d", b.next.take()), "s")}
	if err := os.MkdirAll(filepath.Dir(s.socket), 0o700); err != nil {
		return nil, err
	}
	log, err := os.Create(data + ".log")
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own
	cmd := exec.Command(b.bin, "serve", "--data", data, "--socket", s.socket)
	cmd.Stdout, cmd.Stderr = log, log
	// A configuration of this machine must not decide what is measured.
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MEMSIDECAR_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+filepath.Join(b.dir, "config"))
	s.end = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	if err := s.spawn(cmd); err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	return s, nil
}

// run starts cmd and waits until it serves.
func (s *server) run(ctx context.Context, cmd *exec.Cmd) error {
	if err := s.spawn(cmd); err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return errors.Join(err, s.stop())
	}
	return nil
}

func (s *server) spawn(cmd *exec.Cmd) error {
	s.cmd, s.exited, s.began = cmd, make(chan struct{}), time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		s.exit = cmd.Wait()
		close(s.exited)
	}()
	return nil
}

// ready waits until the health service says SERVING.
func (s *server) ready(ctx context.Context) error {
	conn, err := s.client(0)
	if err != nil {
		return err
	}
	return s.poll(ctx, func(ctx context.Context) error {
		res, err := healthgrpc.NewHealthClient(conn).Check(ctx, &healthgrpc.HealthCheckRequest{})
		if err == nil && res.GetStatus() != healthgrpc.HealthCheckResponse_SERVING {
			err = errors.New(res.GetStatus().String())
		}
		return err
	})
}

// poll calls f, a millisecond apart, until it succeeds, the process ends or patience does.
func (s *server) poll(ctx context.Context, f func(context.Context) error) error {
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

// lastWords is the end of what the process wrote to its log.
func (s *server) lastWords() string {
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

// client is the connection of client i, made when it is first asked for. Not safe for concurrent use.
func (s *server) client(i int) (*grpc.ClientConn, error) {
	for len(s.conns) <= i {
		conn, err := grpc.NewClient("unix://"+s.socket,
			grpc.WithTransportCredentials(peerCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(2*maxMessage)),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1.2, MaxDelay: 5 * time.Millisecond},
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

// peerCredentials are those of the daemon and its clients, so that the echo checks its peer as they do.
func peerCredentials() credentials.TransportCredentials {
	return unixsock.NewCredentials([]uint32{uint32(os.Getuid())}, unixsock.PeerOf, slog.New(slog.DiscardHandler))
}

// memories returns a client of the memory service for each of n connections: an agent has a connection of its own.
func (s *server) memories(n int) ([]memsidecarv1.MemoryServiceClient, error) {
	out := make([]memsidecarv1.MemoryServiceClient, n)
	for i := range out {
		conn, err := s.client(i)
		if err != nil {
			return nil, err
		}
		out[i] = memsidecarv1.NewMemoryServiceClient(conn)
	}
	return out, nil
}

// stop ends the process as a service manager would, and waits for it. Stopping twice does nothing.
func (s *server) stop() error {
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
		return s.exit
	case <-time.After(patience):
		return errors.Join(errors.New("the process did not stop"), s.cmd.Process.Kill())
	}
}
