// Package e2e_test runs the real program: a daemon process, its socket, its signals, its files.
package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock"
)

// program is the binary under test, built once.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("/tmp", "mse2e")
	if err == nil {
		err = os.Chmod(dir, 0o755) // some tests run it as another user
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(dir, "memsidecar")
	build := exec.Command("go", "build", "-o", program, "../../cmd/memsidecar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// place is a data directory and a socket. The socket's path must be short.
type place struct{ data, socket string }

func newPlace(t *testing.T) place {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return place{filepath.Join(dir, "data"), filepath.Join(dir, "s")}
}

// command is the program with the place's flags.
func (p place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, append(args, "--data", p.data, "--socket", p.socket, "--no-start")...)
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(p.data), "XDG_STATE_HOME="+filepath.Dir(p.data)+"/state")
	return cmd
}

// fails runs the program, which must end with the exit code, and returns what it printed.
func (p place) fails(t *testing.T, code int, args ...string) string {
	t.Helper()
	out, err := p.command(args...).CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != code {
		t.Fatalf("%v: %v, want exit code %d\n%s", args, err, code, out)
	}
	return string(out)
}

// succeeds runs the program and returns what it printed.
func (p place) succeeds(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// daemon is a running process.
type daemon struct {
	place
	cmd  *exec.Cmd
	done chan struct{} // closed when its output ended
	mu   sync.Mutex
	log  bytes.Buffer // guarded by mu
}

// serve starts a daemon and returns when it serves.
func (p place) serve(t *testing.T) *daemon {
	t.Helper()
	return p.serveAs(t, p.command("daemon", "serve"))
}

func (p place) serveAs(t *testing.T, cmd *exec.Cmd) *daemon {
	t.Helper()
	d := &daemon{place: p, cmd: cmd, done: make(chan struct{})}
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.kill)
	serving := make(chan struct{})
	go func() {
		defer close(d.done)
		ready := false
		for scan := bufio.NewScanner(out); scan.Scan(); {
			d.mu.Lock()
			d.log.Write(append(scan.Bytes(), '\n'))
			d.mu.Unlock()
			if !ready && strings.Contains(scan.Text(), `"msg":"serving"`) {
				ready = true
				close(serving)
			}
		}
	}()
	select {
	case <-serving:
	case <-d.done:
		t.Fatalf("the daemon ended: %v\n%s", cmd.Wait(), d.output())
	}
	return d
}

func (d *daemon) output() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// kill ends the daemon at once, as a crash of the process does.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.done
	_ = d.cmd.Wait()
}

// stop ends it gracefully.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-d.done
	if err := d.cmd.Wait(); err != nil {
		t.Fatalf("stopped with %v\n%s", err, d.output())
	}
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
