package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/memsidecar/memsidecar/internal/daemon"
)

// Times of starting and stopping.
const (
	startWait    = 10 * time.Second // for a daemon to serve
	progressWait = time.Second      // before it is said that this takes long
	stopWait     = 15 * time.Second // for a daemon to end
	pollEvery    = 20 * time.Millisecond
	maxLogFile   = 8 << 20 // bytes; a larger log is put aside at the next start
)

// instance is the daemon of one data directory, with its files in the state directory:
//
//	daemon.log      what a daemon in the background printed
//	daemon.stopped  it was stopped on purpose, clients do not start it
//	daemon.start    locked while somebody starts or stops it
//
// The daemon of another than the default directory has a name of its own: daemon-0123456789ab.log.
type instance struct {
	app  *app
	cfg  daemon.Config
	base string // path without the ending
}

func (a *app) instance(cfg daemon.Config) (*instance, error) {
	dir, err := daemon.StateDir(a.env)
	if err != nil {
		return nil, &cliError{what: err.Error(), code: exitUsage}
	}
	name, err := daemon.InstanceOf(cfg.Data, a.env)
	if err != nil {
		return nil, err
	}
	base := filepath.Join(dir, "daemon")
	if name != "" {
		base += "-" + name
	}
	return &instance{app: a, cfg: cfg, base: base}, nil
}

func (in *instance) logFile() string { return in.base + ".log" }
func (in *instance) mark() string    { return in.base + ".stopped" }

func (in *instance) stoppedOnPurpose() bool {
	_, err := os.Stat(in.mark())
	return err == nil
}

// setStopped leaves or removes the mark.
func (in *instance) setStopped(stopped bool) error {
	if !stopped {
		if err := os.Remove(in.mark()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the mark that the daemon was stopped: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(in.base), 0o700); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	if err := os.WriteFile(in.mark(), nil, 0o600); err != nil {
		return fmt.Errorf("mark that the daemon was stopped: %w", err)
	}
	return nil
}

// exclusively runs fn while no other client starts or stops this daemon.
func (in *instance) exclusively(ctx context.Context, fn func() error) error {
	if err := os.MkdirAll(filepath.Dir(in.base), 0o700); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	lock := flock.New(in.base+".start", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, startWait+stopWait)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, pollEvery); err != nil {
		return fmt.Errorf("wait for another client that starts or stops the daemon: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	return fn()
}

// start makes sure that a daemon serves, and runs one in the background when none does.
func (in *instance) start(ctx context.Context) error {
	return in.exclusively(ctx, func() error { return in.startLocked(ctx) })
}

func (in *instance) startLocked(ctx context.Context) error {
	c, err := dial(in.cfg.Socket)
	if err != nil {
		return err
	}
	defer c.close()
	if ok, err := in.probe(ctx, c); ok || err != nil {
		return err // somebody else was faster, or something is there that does not answer in our language
	}
	child, err := in.spawn()
	if err != nil {
		return err
	}
	return child.wait(ctx, c)
}

// probe reports whether a daemon serves. One that is on its way up or down is waited for.
func (in *instance) probe(ctx context.Context, c *client) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		ok, err := c.serving(ctx)
		if ok || err != nil && unreachable(err) {
			return ok, nil
		}
		if !pause(ctx, pollEvery) {
			return false, &cliError{what: "the daemon at " + in.cfg.Socket + " is there but does not serve", code: exitUnreachable,
				hint: "See its log: " + in.logFile(), cause: ctx.Err()}
		}
	}
}

// child is a daemon that was started in the background.
type child struct {
	in   *instance
	from int64 // where its output begins in the log
	done chan error
}

// spawn runs this program as a daemon that outlives it.
func (in *instance) spawn() (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if info, err := os.Stat(in.logFile()); err == nil && info.Size() > maxLogFile {
		if err := os.Rename(in.logFile(), in.logFile()+".1"); err != nil {
			return nil, fmt.Errorf("put the old log aside: %w", err)
		}
	}
	log, err := os.OpenFile(in.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the daemon's log: %w", err)
	}
	defer log.Close()
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("open the daemon's log: %w", err)
	}
	args, err := in.serveArgs()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = "/" // hold no directory of the user's
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	ch := &child{in: in, from: from, done: make(chan error, 1)}
	// Joined when the daemon ends or this program does, which is the point of a daemon.
	go func() { ch.done <- cmd.Wait() }()
	return ch, nil
}

// serveArgs are the arguments with which this program is the daemon.
func (in *instance) serveArgs() ([]string, error) {
	args := []string{"serve", "--data", in.cfg.Data, "--socket", in.cfg.Socket}
	if in.app.flags.config == "" {
		return args, nil
	}
	config, err := filepath.Abs(in.app.flags.config)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	return append(args, "--config", config), nil
}

// wait returns once the daemon serves. A daemon that ends is reported with its last words and its exit code.
func (ch *child) wait(ctx context.Context, c *client) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	out := ch.in.app.out
	slow := time.NewTimer(progressWait)
	defer slow.Stop()
	for {
		select {
		case err := <-ch.done:
			return ch.failure(err)
		case <-slow.C:
			out.note("starting the daemon for %s …", ch.in.cfg.Data)
			continue
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return &cliError{what: fmt.Sprintf("the daemon did not serve within %s", startWait), code: exitUnreachable,
				hint: ch.tail() + "It may still be reading its data: see " + ch.in.logFile()}
		case <-time.After(pollEvery):
		}
		// A connection that failed once backs off for a second; the daemon is faster than that.
		c.conn.ResetConnectBackoff()
		if ok, _ := c.serving(ctx); ok {
			return nil
		}
	}
}

func (ch *child) failure(err error) error {
	code := exitUnreachable
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && (exit.ExitCode() == exitLocked || exit.ExitCode() == exitCorrupt) {
		code = exit.ExitCode()
	}
	return &cliError{what: "the daemon did not start", code: code, hint: ch.tail() + "Its log: " + ch.in.logFile(), cause: err}
}

// tail is the last lines that the daemon printed.
func (ch *child) tail() string {
	data, err := os.ReadFile(ch.in.logFile())
	if err != nil || int64(len(data)) <= ch.from {
		return ""
	}
	lines := strings.Split(string(bytes.TrimSpace(data[ch.from:])), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n") + "\n"
}

// pause waits for d; false when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// gone reports whether a process has ended. One that has, but that nobody has waited for, counts.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false // no /proc here
	}
	_, rest, found := bytes.Cut(stat, []byte(") "))
	return found && bytes.HasPrefix(rest, []byte("Z"))
}

// samePath compares directories by what they are, not how they are written.
func samePath(a, b string) bool {
	if a == b {
		return true
	}
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}
