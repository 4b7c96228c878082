package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// TestSocketActivation is a service manager: it listens, passes the socket on, is told when requests are answered,
// and goes on listening after the daemon has stopped.
func TestSocketActivation(t *testing.T) {
	p := newPlace(t)
	dir := filepath.Dir(p.Socket)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.Socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := os.Chmod(p.Socket, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()

	conn := p.dial(t) // nobody serves yet: a service manager lets clients wait
	for round := range 2 {
		cmd := p.Command("daemon", "serve")
		// The number of the process is known to itself only.
		activated := exec.Command("sh", append([]string{"-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"`},
			cmd.Args...)...)
		activated.Env = append(cmd.Env, "NOTIFY_SOCKET="+filepath.Join(dir, "n"))
		activated.ExtraFiles = []*os.File{file}
		d := p.serveAs(t, activated)
		told := make([]byte, 64)
		n, err := ready.Read(told)
		if err != nil || string(told[:n]) != "READY=1" {
			t.Fatalf("round %d: told %q, error %v", round, told[:n], err)
		}
		res, err := pb.NewMemoryServiceClient(conn).Add(t.Context(),
			&pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{{Content: fmt.Sprint("round ", round)}}})
		if err != nil || res.GetResult().GetOperationId() == "" {
			t.Fatalf("round %d: %v, %v\n%s", round, res, err, d.Logged())
		}
		if out := p.Succeeds(t, "doctor"); strings.Contains(out, "FAIL") {
			t.Errorf("doctor: %s", out)
		}
		d.Stop(t)
		if _, err := os.Lstat(p.Socket); err != nil {
			t.Fatalf("round %d: the socket of the service manager is gone: %v", round, err)
		}
	}
}

// TestActivatedWithAnotherSocket refuses to serve on a socket that clients do not look at.
func TestActivatedWithAnotherSocket(t *testing.T) {
	p := newPlace(t)
	listener, err := net.ListenUnix("unix",
		&net.UnixAddr{Name: filepath.Join(filepath.Dir(p.Socket), "other"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := p.Command("daemon", "serve")
	activated := exec.Command("sh", append([]string{"-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"`}, cmd.Args...)...)
	activated.Env, activated.ExtraFiles = cmd.Env, []*os.File{file}
	out, err := activated.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "something else than the configured socket") {
		t.Errorf("error %v: %s", err, out)
	}
}

// TestMetrics reads the metrics of the real daemon over a Unix socket.
func TestMetrics(t *testing.T) {
	p := newPlace(t)
	socket := filepath.Join(filepath.Dir(p.Socket), "m")
	cmd := p.Command("daemon", "serve")
	cmd.Env = append(cmd.Env, "MEMSIDECAR_METRICS_LISTEN="+socket)
	d := p.serveAs(t, cmd)
	p.Succeeds(t, "add", "the kea is a parrot", "--category", "facts", "--salience", "0.8")
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	get := func(path string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://memsidecar"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatalf("%v\n%s", err, d.Logged())
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v: %s", path, res.Status, err, body)
		}
		return string(body)
	}
	if info, err := os.Lstat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the socket: %v, %v", info, err)
	}
	get("/healthz")
	get("/readyz")
	body := get("/metrics")
	for _, want := range []string{
		`memsidecar_memories{category="facts"} 1`, `memsidecar_average_salience 0.8`,
		`memsidecar_calls_total{code="OK",method="MemoryService/Add"} 1`,
		`memsidecar_call_duration_seconds_count{method="MemoryService/Add"} 1`, `memsidecar_journal_bytes `,
		`memsidecar_publication_lag_seconds{kind="memory.json"} `,
		`memsidecar_sessions_waiting 0`, `memsidecar_cache_requests_total{cache="session_context",result="hit"} 0`,
	} {
		if !strings.Contains(body, "\n"+want) {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(body, "kea") {
		t.Error("the metrics hold memory text")
	}
	d.Stop(t)
	if _, err := os.Lstat(socket); err == nil {
		t.Error("the socket of the metrics is left behind")
	}
}
