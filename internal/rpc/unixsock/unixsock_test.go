package unixsock_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/listener"
)

// shortDir is short whatever the test is called: a socket's path has few bytes.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serve runs a health service whose clients' uids are found by lookup; seen gets the peer that a handler saw.
func serve(t *testing.T, lookup func(net.Conn) (unixsock.Peer, error), log *strings.Builder) (path string,
	seen chan unixsock.Peer) {
	t.Helper()
	path = filepath.Join(shortDir(t), "s")
	socket, err := listener.Listen(t.Context(), path, "the test")
	if err != nil {
		t.Fatal(err)
	}
	seen = make(chan unixsock.Peer, 1)
	server := grpc.NewServer(
		grpc.Creds(unixsock.NewCredentials([]uint32{uint32(os.Getuid())}, lookup,
			slog.New(slog.NewTextHandler(log, nil)))),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any,
			error) {
			if p, ok := unixsock.FromContext(ctx); ok {
				seen <- p
			}
			return next(ctx, req)
		}))
	healthpb.RegisterHealthServer(server, health.NewServer())
	done := make(chan error, 1)
	go func() { done <- server.Serve(socket) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return path, seen
}

func check(t *testing.T, path string) error {
	t.Helper()
	conn, err := unixsock.Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	return err
}

func TestPeerReachesHandler(t *testing.T) {
	path, seen := serve(t, unixsock.PeerOf, new(strings.Builder))
	if err := check(t, path); err != nil {
		t.Fatal(err)
	}
	want := unixsock.Peer{UID: uint32(os.Getuid()), PID: int32(os.Getpid())}
	if got := <-seen; got != want {
		t.Errorf("handler saw %+v, want %+v", got, want)
	}
}

func TestStrangerIsRefused(t *testing.T) {
	var log strings.Builder
	t.Run("call", func(t *testing.T) {
		stranger := func(net.Conn) (unixsock.Peer, error) {
			return unixsock.Peer{UID: uint32(os.Getuid()) + 1, PID: 4321}, nil
		}
		path, seen := serve(t, stranger, &log)
		if err := check(t, path); status.Code(err) != codes.Unavailable {
			t.Errorf("call got %v, want Unavailable", err)
		}
		if len(seen) != 0 {
			t.Error("a handler was reached")
		}
	})
	if !strings.Contains(log.String(), "peer_pid=4321") {
		t.Errorf("log does not name the stranger: %q", log.String())
	}
}

func TestUnknownPeerIsRefused(t *testing.T) {
	path, seen := serve(t, func(net.Conn) (unixsock.Peer, error) { return unixsock.Peer{}, errors.New("no") },
		new(strings.Builder))
	if err := check(t, path); status.Code(err) != codes.Unavailable || len(seen) != 0 {
		t.Errorf("got %v, want Unavailable and no handler reached", err)
	}
}

func TestFromContextWithoutSocket(t *testing.T) {
	if _, ok := unixsock.FromContext(t.Context()); ok {
		t.Error("found a peer where there is none")
	}
}
