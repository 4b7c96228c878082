//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// quick recalls as the hook of a prompt does, which must end well. It returns the reason why nothing was said, and
// the block. No test here asserts how long it took, as this machine may be busy: the minute is for what waits for an
// answer. bench measures it.
func (p place) quick(t *testing.T, more ...string) (reason, block string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := p.Command(append([]string{"recall", "staging gateway port", "--or-nothing", "--json"}, more...)...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v: %v after %v\n%s", more, err, time.Since(began), stderr.String())
	}
	t.Logf("%v", time.Since(began))
	var got struct{ Reason, Block string }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Errorf("%v: %v: %s", more, err, out.String())
	}
	return got.Reason, got.Block
}

// logged counts the lines of the log with a reason.
func (p place) logged(t *testing.T, reason string) int {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(p.Home(), "state", "memsidecar", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(text), `"reason":"`+reason+`"`)
		if strings.Contains(string(text), "staging gateway port") {
			t.Error("the prompt is in the log")
		}
	}
	return n
}

// TestRecallFailsNoTurn: whatever is wrong with the daemon, a prompt gets nothing, the hook ends well, and the log
// says why.
func TestRecallFailsNoTurn(t *testing.T) {
	p := newPlace(t)
	nothing := func(what, want string, more ...string) {
		t.Helper()
		before := p.logged(t, want)
		if reason, block := p.quick(t, more...); reason != want || block != "" {
			t.Errorf("%s: %s, %q", what, reason, block)
		}
		if got := p.logged(t, want) - before; got != 1 {
			t.Errorf("%s: %d lines in the log", what, got)
		}
	}
	nothing("never started", "DOWN")
	bad := filepath.Join(p.Home(), "config.yaml")
	if err := os.WriteFile(bad, []byte("unknown: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	nothing("bad configuration", "FAILED", "--config", bad)
	nothing("bad request", "DOWN", "--tokens", "1")

	d := p.serve(t)
	p.Succeeds(t, "add", "The staging gateway listens on port 8443.")
	if reason, block := p.quick(t, "--session", "s0", "--timeout", "10s"); reason != "" ||
		!strings.Contains(block, "8443") {
		t.Errorf("all is well: %s, %q", reason, block)
	}
	nothing("bad request", "FAILED", "--tokens", "1", "--timeout", "10s")
	if err := d.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	nothing("frozen", "TOO_LATE", "--session", "s1")
	if err := d.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if reason, block := p.quick(t, "--session", "s1", "--timeout", "10s"); reason != "" ||
		!strings.Contains(block, "8443") {
		t.Errorf("what was not told counts as told: %s, %q", reason, block)
	}
	d.Kill()
	nothing("killed", "DOWN")

	p.serve(t)
	p.Succeeds(t, "daemon", "stop")
	nothing("stopped on purpose", "STOPPED")

	// Somebody who takes the connection and says nothing, as a daemon whose machine is overwhelmed.
	_ = os.Remove(p.Socket)
	listener, err := net.Listen("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	nothing("silent", "TOO_LATE")
}
