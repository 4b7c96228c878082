//go:build unix

package e2e_test

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHookAlwaysEnds: nothing that a hook waits for keeps it: it ends by itself, or by SIGTERM, with exit code 0 and an
// answer. The limits of this test are for a hook that hangs; TestHookWatchdog has those of the program.
func TestHookAlwaysEnds(t *testing.T) {
	p := newPlace(t)
	p.serve(t)
	fifo := filepath.Join(p.Home(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	event := func(transcript string) string {
		return fmt.Sprintf(`{"session_id":"s","transcript_path":%q,"prompt":"hello","cwd":"/"}`, transcript)
	}
	for _, tt := range []struct {
		name   string
		args   []string
		in     string
		open   bool // standard input stays open
		signal bool
	}{
		{name: "a pipe as transcript", args: []string{"hook", "--host", "claude-code", "prompt"}, in: event(fifo)},
		{name: "a pipe as transcript, at the edge", args: []string{"hook", "--host", "claude-code", "session-end"}, in: event(fifo)},
		{name: "a device as transcript", args: []string{"hook", "--host", "claude-code", "stop"}, in: event("/dev/zero")},
		{name: "an open standard input", args: []string{"hook", "--host", "claude-code", "prompt"}, open: true},
		{name: "SIGTERM", args: []string{"hook", "--host", "claude-code", "prompt", "--timeout", "10m"}, open: true, signal: true},
		{name: "a bad flag before the command", args: []string{"--nonsense", "hook", "--host", "codex", "stop"}, in: event("")},
		{name: "a bad configuration before it", args: []string{"--config", "/nowhere.yaml", "hook", "--host", "codex", "stop"}, in: event("")},
		{name: "a bad value before it", args: []string{"--timeout", "soon", "hook", "--host", "codex", "stop"}, in: event("")},
	} {
		for _, slim := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " slim=", slim), func(t *testing.T) {
				cmd := p.hookCommand(slim, tt.args...)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				var out strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = cmd.Process.Kill() }()
				if _, err := io.WriteString(in, tt.in); err != nil && !tt.open {
					t.Log("the event was not read:", err) // the hook may have ended before
				}
				if !tt.open {
					_ = in.Close()
				}
				ended := wait(cmd)
				if tt.signal {
					select {
					case err := <-ended:
						t.Fatalf("it ended before the signal: %v %s", err, out.String())
					case <-time.After(300 * time.Millisecond): // longer than a hook without --timeout takes
					}
					if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
						t.Fatal(err)
					}
				}
				select {
				case err := <-ended:
					if err != nil || strings.TrimSpace(out.String()) != "{}" {
						t.Errorf("%v, answer %q", err, out.String())
					}
				case <-time.After(time.Minute):
					t.Error("it does not end")
				}
			})
		}
	}
}

// wait returns where the result of a process will be.
func wait(cmd *exec.Cmd) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended
}
