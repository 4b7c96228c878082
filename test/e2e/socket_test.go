package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
)

// exitLocked is the program's exit code when another daemon has the data directory or the socket.
const exitLocked = 4

// TestOneDaemonASocket starts a second daemon with another data directory and the same socket: it must name both
// directories and exit, and the first must go on serving.
func TestOneDaemonASocket(t *testing.T) {
	first := newPlace(t)
	first.serve(t)
	first.Succeeds(t, "add", "The first daemon holds this.")
	second := first.at(first.Data+"2", first.Socket)
	out := second.Fails(t, exitLocked, "daemon", "serve")
	for _, want := range []string{first.Socket, first.Data, second.Data, "daemon stop"} {
		if !strings.Contains(out, want) {
			t.Errorf("the refusal does not name %s:\n%s", want, out)
		}
	}
	if out := first.Succeeds(t, "list"); !strings.Contains(out, "The first daemon holds this.") {
		t.Errorf("the first daemon lists:\n%s", out)
	}
}

// TestTwoDaemonsAtOnce starts two daemons with one socket at the same moment: exactly one serves, the other exits with
// exitLocked. A daemon that was killed leaves nothing that the next one has to wait for.
func TestTwoDaemonsAtOnce(t *testing.T) {
	for round := range 50 {
		if memtest.SkipSample(round, 10) {
			continue
		}
		a := newPlace(t)
		b := a.at(a.Data+"2", a.Socket)
		codes := make(chan int, 2)
		var wg sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		for _, p := range []place{a, b} {
			wg.Go(func() {
				cmd := p.Command("daemon", "serve")
				var said bytes.Buffer
				cmd.Stderr = &said
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				go func() { <-ctx.Done(); _ = cmd.Process.Kill() }()
				err := cmd.Wait()
				if exit, ok := errors.AsType[*exec.ExitError](err); ok {
					if text := said.String(); exit.ExitCode() == exitLocked && strings.Contains(text, "another process") {
						t.Errorf("the refused daemon does not name the other directory: %s", text)
					}
					codes <- exit.ExitCode()
				} else {
					codes <- 0
				}
			})
		}
		if code := <-codes; code != exitLocked {
			t.Errorf("the first to end has exit code %d, want %d", code, exitLocked)
		}
		a.Succeeds(t, "status", "--check", "--wait")
		stop()
		wg.Wait()
		if code := <-codes; code != -1 {
			t.Errorf("the daemon that served ended by itself, with exit code %d", code)
		}
		a.serve(t).Kill()
	}
}

// TestSocketRemoved removes the socket file under a daemon: clients reach it again, and doctor says what happened.
func TestSocketRemoved(t *testing.T) {
	p := newPlace(t)
	d := p.serve(t)
	if err := os.Remove(p.Socket); err != nil {
		t.Fatal(err)
	}
	p.Succeeds(t, "status", "--check", "--wait")
	out, _ := p.Command("doctor").CombinedOutput() // exits with 1 for a warning
	if !strings.Contains(string(out), "created again") {
		t.Errorf("doctor:\n%s\nlog:\n%s", out, d.Logged())
	}
}

// TestSocketTaken puts something else in the place of the socket: the daemon stops instead of serving nobody, and
// leaves it alone.
func TestSocketTaken(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"file":      func(path string) error { return os.WriteFile(path, []byte("precious"), 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"symbolic link of another user": func(path string) error {
			if err := os.Symlink("/nowhere/their.sock", path); err != nil || os.Geteuid() != 0 {
				return err
			}
			return os.Lchown(path, 12345, 12345)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			d := p.serve(t)
			p.Succeeds(t, "add", "Kept.")
			taken := filepath.Join(filepath.Dir(p.Socket), "taken")
			if err := replace(taken); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(taken)
			if err != nil {
				t.Fatal(err)
			}
			// A directory replaces nothing, so the socket goes first; the daemon may look in between.
			if err := os.Remove(p.Socket); err != nil {
				t.Fatal(err)
			}
			for err = os.Rename(taken, p.Socket); err != nil; err = os.Rename(taken, p.Socket) {
				if err := os.Remove(p.Socket); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-d.Done:
			case <-time.After(time.Minute):
				t.Fatalf("the daemon goes on:\n%s", d.Logged())
			}
			if after, err := os.Lstat(p.Socket); err != nil || !os.SameFile(before, after) {
				t.Errorf("what was put there is now %v, %v", after, err)
			}
			if out := p.Fails(t, 1, "daemon", "serve"); !strings.Contains(out, p.Socket) {
				t.Errorf("the refusal does not name the socket:\n%s", out)
			}
			if err := os.Remove(p.Socket); err != nil {
				t.Fatal(err)
			}
			p.serve(t)
			if out := p.Succeeds(t, "list"); !strings.Contains(out, "Kept.") {
				t.Errorf("after the restart:\n%s", out)
			}
		})
	}
}

// TestSocketPathTooLong: the address of a socket holds 107 bytes. The refusal proposes a path that fits.
func TestSocketPathTooLong(t *testing.T) {
	p := newPlace(t)
	p.Socket = filepath.Join(filepath.Dir(p.Socket), strings.Repeat("s", 110))
	out := p.Fails(t, 2, "daemon", "serve")
	_, after, ok := strings.Cut(out, `such as "`)
	if !strings.Contains(out, "the limit is 107") || !ok {
		t.Fatalf("the refusal:\n%s", out)
	}
	proposed, _, _ := strings.Cut(after, `"`)
	if len(proposed) > 107 || !filepath.IsAbs(proposed) {
		t.Errorf("it proposes %q", proposed)
	}
	p.Socket = proposed
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(proposed)) })
	p.serve(t)
	p.Socket = "unix:" + proposed
	p.Succeeds(t, "status", "--check", "--wait")
}
