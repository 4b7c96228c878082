// Package e2e_test runs the real program: a daemon process, its socket, its signals, its files.
package e2e_test

import (
	"context"
	"fmt"
	"os/exec"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memtest/process"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// program is the binary under test, built once.
var program string

func TestMain(m *testing.M) { process.Main(m, &program) }

// place is a data directory and a socket. The socket's path must be short.
type place struct{ data, socket string }

func newPlace(t *testing.T) place {
	t.Helper()
	p := process.New(t, program)
	return place{p.Data, p.Socket}
}

// run is the place as package process knows it.
func (p place) run() process.Place {
	return process.Place{Program: program, Data: p.data, Socket: p.socket}
}

// command is the program with the place's flags.
func (p place) command(args ...string) *exec.Cmd { return p.run().Command(args...) }

// fails runs the program, which must end with the exit code, and returns what it printed.
func (p place) fails(t *testing.T, code int, args ...string) string {
	t.Helper()
	return p.run().Fails(t, code, args...)
}

// succeeds runs the program and returns what it printed.
func (p place) succeeds(t *testing.T, args ...string) string {
	t.Helper()
	return p.run().Succeeds(t, args...)
}

// daemon is a running process.
type daemon struct {
	place
	*process.Daemon
}

// serve starts a daemon and returns when it serves.
func (p place) serve(t *testing.T) *daemon {
	t.Helper()
	return p.serveAs(t, p.command("daemon", "serve"))
}

func (p place) serveAs(t *testing.T, cmd *exec.Cmd) *daemon {
	t.Helper()
	return &daemon{p, p.run().ServeAs(t, cmd)}
}

func (d *daemon) output() string { return d.Output() }

// kill ends the daemon at once, as a crash of the process does.
func (d *daemon) kill() { d.Kill() }

// stop ends it gracefully.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	d.Stop(t)
}

func (p place) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn, err := unixsock.Dial(p.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (p place) memories(t *testing.T) pb.MemoryServiceClient {
	t.Helper()
	return pb.NewMemoryServiceClient(p.dial(t))
}

// add stores memories with the given ids as one operation.
func add(ctx context.Context, client pb.MemoryServiceClient, ids ...string) error {
	req := &pb.MemoryServiceAddRequest{}
	for _, id := range ids {
		req.Items = append(req.Items, &pb.NewMemory{Id: id, Category: "facts", Content: "this is " + id})
	}
	resp, err := client.Add(ctx, req)
	if err == nil && resp.GetResult().GetOperationId() == "" {
		err = fmt.Errorf("nothing was done: %v", resp)
	}
	return err
}

// missing returns which of the ids are not there.
func missing(t *testing.T, client pb.MemoryServiceClient, ids []string) (out []string) {
	t.Helper()
	for len(ids) > 0 {
		n := min(len(ids), 200)
		resp, err := client.Get(t.Context(), &pb.MemoryServiceGetRequest{Ids: ids[:n]})
		if status.Code(err) == codes.NotFound { // when none is there
			out, ids = append(out, ids[:n]...), ids[n:]
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range resp.GetMemories() {
			if m.GetContent() != "this is "+m.GetId() {
				t.Errorf("%s holds %q", m.GetId(), m.GetContent())
			}
		}
		out, ids = append(out, resp.GetMissingIds()...), ids[n:]
	}
	return out
}
