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

// place is where a daemon runs, with what the tests of this package ask of one.
type place struct{ process.Place }

func newPlace(t *testing.T) place {
	t.Helper()
	return place{process.New(t, program)}
}

// at returns the same program with another data directory and another socket.
func (p place) at(data, socket string) place {
	return place{process.Place{Program: p.Program, Data: data, Socket: socket}}
}

// daemon is a running process.
type daemon struct {
	place
	*process.Daemon
}

// serve starts a daemon and returns when it serves.
func (p place) serve(t *testing.T) *daemon {
	t.Helper()
	return p.serveAs(t, p.Command("daemon", "serve"))
}

func (p place) serveAs(t *testing.T, cmd *exec.Cmd) *daemon {
	t.Helper()
	return &daemon{p, process.ServeAs(t, cmd)}
}

func (p place) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn, err := unixsock.Dial(p.Socket)
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
