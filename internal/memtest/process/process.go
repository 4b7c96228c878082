// Package process runs the built program for tests: its command line, and its daemon on a data directory and a socket
// of the test's own.
package process

import (
	"bufio"
	"bytes"
	"encoding/json"
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
	"time"
)

// Main builds the program once, with memsidecar-hook beside it, sets path to it, runs a package's tests and exits. Call
// it from TestMain.
func Main(m *testing.M, path *string) {
	flag.Parse()
	dir, err := os.MkdirTemp("/tmp", "msproc")
	if err == nil {
		err = os.Chmod(dir, 0o755) // some tests run it as another user
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	*path = filepath.Join(dir, "memsidecar")
	build := exec.Command("go", "build", "-o", dir+"/", "github.com/memsidecar/memsidecar/cmd/memsidecar",
		"github.com/memsidecar/memsidecar/cmd/memsidecar-hook")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// Place is a program with a data directory and a socket. The socket's path must be short.
type Place struct{ Program, Data, Socket string }

// New returns a new place, which is removed when the test ends. Its data directory does not exist yet.
func New(t testing.TB, program string) Place {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ms")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Place{program, filepath.Join(dir, "data"), filepath.Join(dir, "s")}
}

// Home returns the directory of the place, which is the program's HOME.
func (p Place) Home() string { return filepath.Dir(p.Data) }

// Command returns the program with the place's flags. It starts no daemon by itself.
func (p Place) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.Program, append(args, "--data", p.Data, "--socket", p.Socket, "--no-start")...)
	cmd.Env = append(os.Environ(), "HOME="+p.Home(), "XDG_STATE_HOME="+p.Home()+"/state")
	return cmd
}

// Fails runs the program, which must end with the exit code, and returns what it printed.
func (p Place) Fails(t testing.TB, code int, args ...string) string {
	t.Helper()
	out, err := p.Command(args...).CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != code {
		t.Fatalf("%v: %v, want exit code %d\n%s", args, err, code, out)
	}
	return string(out)
}

// Succeeds runs the program and returns what it printed.
func (p Place) Succeeds(t testing.TB, args ...string) string {
	t.Helper()
	out, err := p.Command(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Ask runs the program and decodes its JSON.
func Ask[T any](t testing.TB, p Place, args ...string) (out T) {
	t.Helper()
	text := p.Succeeds(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %v: %s", args, err, text)
	}
	return out
}

// Daemon is a running process.
type Daemon struct {
	Cmd  *exec.Cmd
	Done chan struct{} // closed when its output ended
	mu   sync.Mutex
	log  bytes.Buffer // guarded by mu
}

// Serve starts a daemon with the arguments and returns when it serves. It is killed when the test ends.
func (p Place) Serve(t testing.TB, args ...string) *Daemon {
	t.Helper()
	return ServeAs(t, p.Command(append([]string{"daemon", "serve"}, args...)...))
}

// ServeAs is Serve with a command of the test's own.
func ServeAs(t testing.TB, cmd *exec.Cmd) *Daemon {
	t.Helper()
	d := &Daemon{Cmd: cmd, Done: make(chan struct{})}
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Kill)
	serving := make(chan struct{})
	go func() {
		defer close(d.Done)
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
	case <-d.Done:
		t.Fatalf("the daemon ended: %v\n%s", cmd.Wait(), d.Logged())
	}
	return d
}

// Logged returns what the daemon has logged so far.
func (d *Daemon) Logged() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// Kill ends the daemon at once, as a crash of the process does.
func (d *Daemon) Kill() {
	_ = d.Cmd.Process.Kill()
	<-d.Done
	_ = d.Cmd.Wait()
}

// Stop ends it gracefully.
func (d *Daemon) Stop(t testing.TB) {
	t.Helper()
	if err := d.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-d.Done
	if err := d.Cmd.Wait(); err != nil {
		t.Fatalf("stopped with %v\n%s", err, d.Logged())
	}
}

// Eventually waits for something that another process does, for half a minute.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	Within(t, 30*time.Second, what, done)
}

// Within is Eventually with a time limit of the caller's.
func Within(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %v in vain until %s", limit, what)
		}
	}
}
