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

func TestDefaultPath(t *testing.T) {
	env := func(v string) func(string) string {
		return func(name string) string {
			if name != "XDG_RUNTIME_DIR" {
				t.Errorf("asked for %q", name)
			}
			return v
		}
	}
	got, err := unixsock.DefaultPath(env("/run/user/1000"))
	if want := "/run/user/1000/memsidecar/memsidecar.sock"; got != want || err != nil {
		t.Errorf("DefaultPath = %q, %v, want %q", got, err, want)
	}
	if _, err := unixsock.DefaultPath(env("/" + strings.Repeat("x", 100))); !errors.Is(err, unixsock.ErrPathTooLong) {
		t.Errorf("long runtime directory: %v, want ErrPathTooLong", err)
	}
	for _, v := range []string{"", "relative"} {
		got, err := unixsock.DefaultPath(env(v))
		if err == nil && !strings.HasPrefix(got, "/tmp/memsidecar-") {
			t.Errorf("DefaultPath with %q = %q, want a path in /tmp", v, got)
		}
	}
}

func TestCheckPrivate(t *testing.T) {
	tests := []struct {
		name string
		make func(dir string) error
		want error
	}{
		{"missing", func(string) error { return nil }, nil},
		{"private", func(d string) error { return os.Mkdir(d, 0o700) }, nil},
		{"open to the group", func(d string) error { return errors.Join(os.Mkdir(d, 0o700), os.Chmod(d, 0o750)) },
			unixsock.ErrUnsafeDir},
		{"file", func(d string) error { return os.WriteFile(d, nil, 0o600) }, unixsock.ErrUnsafeDir},
		{"symbolic link", func(d string) error {
			return errors.Join(os.Mkdir(d+"2", 0o700), os.Symlink(d+"2", d))
		}, unixsock.ErrUnsafeDir},
		{"foreign", func(d string) error {
			if os.Getuid() != 0 {
				return nil
			}
			return errors.Join(os.Mkdir(d, 0o700), os.Chown(d, 12345, -1))
		}, foreignWant()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(shortDir(t), "d")
			if err := test.make(dir); err != nil {
				t.Fatal(err)
			}
			if err := unixsock.CheckPrivate(dir); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// foreignWant is nil where the test cannot give a directory away.
func foreignWant() error {
	if os.Getuid() != 0 {
		return nil
	}
	return unixsock.ErrUnsafeDir
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
