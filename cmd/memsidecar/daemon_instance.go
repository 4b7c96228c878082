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
	"time"

	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/daemon/userdirs"
	"github.com/memsidecar/memsidecar/internal/process"
	"github.com/memsidecar/memsidecar/internal/process/filelock"
)

// Times of starting and stopping.
const (
	startWait    = 10 * time.Second // until a new daemon serves
	progressWait = time.Second      // before a progress message
	stopWait     = 15 * time.Second // until a daemon has ended
	pollEvery    = 20 * time.Millisecond
	maxLogFile   = 8 << 20 // bytes; a larger log is rotated at the next start
)

// instance is the daemon of one data directory, with its files in the state directory:
//
//	daemon.log      output of a daemon in the background
//	daemon.stopped  marks a daemon that was stopped on purpose; clients do not start it
//	daemon.start    lock file, held while a client starts or stops the daemon
//
// For another than the default data directory the names contain a hash of it: daemon-0123456789ab.log.
type instance struct {
	app  *app
	cfg  daemon.Config
	base string // path of these files without the extension
}

// instance finds the state files of the daemon that cfg describes.
func (a *app) instance(cfg daemon.Config) (*instance, error) {
	dir, err := userdirs.State(a.env)
	if err != nil {
		return nil, &cliError{what: err.Error(), code: exitUsage}
	}
	name, err := userdirs.Instance(cfg.Data, a.env)
	if err != nil {
		return nil, err
	}
	base := filepath.Join(dir, "daemon")
	if name != "" {
		base += "-" + name
	}
	return &instance{app: a, cfg: cfg, base: base}, nil
}

// logFile is the log of a daemon in the background.
func (in *instance) logFile() string { return in.base + ".log" }

// mark is the file that marks a daemon as stopped on purpose.
func (in *instance) mark() string { return in.base + ".stopped" }

// stoppedOnPurpose reports whether "daemon stop" was the last command, so that clients must not start a daemon.
func (in *instance) stoppedOnPurpose() bool {
	_, err := os.Stat(in.mark())
	return err == nil
}

// setStopped creates or removes the mark that the daemon was stopped on purpose.
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

// exclusively runs fn under the lock for starting and stopping this daemon.
func (in *instance) exclusively(ctx context.Context, fn func() error) error {
	if err := os.MkdirAll(filepath.Dir(in.base), 0o700); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startWait+stopWait)
	defer cancel()
	lock, err := filelock.Wait(ctx, in.base+".start", pollEvery)
	if err != nil {
		return fmt.Errorf("wait for another client that starts or stops the daemon: %w", err)
	}
	defer func() { _ = lock.Release() }()
	return fn()
}

// start returns once a daemon serves. It starts one in the background if none is running.
func (in *instance) start(ctx context.Context) error {
	return in.exclusively(ctx, func() error { return in.startLocked(ctx) })
}

// startLocked is start for a caller that holds the start lock.
func (in *instance) startLocked(ctx context.Context) error {
	c, err := dial(in.cfg.Socket)
	if err != nil {
		return err
	}
	defer c.close()
	if ok, err := in.probe(ctx, c); ok || err != nil {
		return err // another client was faster, or another program listens on the socket
	}
	child, err := in.spawn()
	if err != nil {
		return err
	}
	return child.wait(ctx, c)
}

// probe reports whether a daemon serves. It waits for a daemon that is starting or stopping.
func (in *instance) probe(ctx context.Context, c *client) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		ok, err := c.serving(ctx)
		if ok || err != nil && unreachable(err) {
			return ok, nil
		}
		if !pause(ctx, pollEvery) {
			return false, &cliError{what: "the daemon at " + in.cfg.Socket + " answers but does not serve",
				code: exitUnreachable,
				hint: "See its log: " + in.logFile(), cause: ctx.Err()}
		}
	}
}

// child is a daemon that this process started in the background.
type child struct {
	in   *instance
	from int64 // offset of its output in the log
	done chan error
}

// spawn runs this program as a daemon that outlives this process.
func (in *instance) spawn() (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if info, err := os.Stat(in.logFile()); err == nil && info.Size() > maxLogFile {
		if err := os.Rename(in.logFile(), in.logFile()+".1"); err != nil {
			return nil, fmt.Errorf("rotate the log: %w", err)
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
	cmd.Dir = "/" // keep no directory of the user busy
	cmd.Stdout, cmd.Stderr = log, log
	process.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	ch := &child{in: in, from: from, done: make(chan error, 1)}
	// This goroutine ends with the daemon or with this process, whichever is first.
	go func() { ch.done <- cmd.Wait() }()
	return ch, nil
}

// serveArgs are the arguments that run this program as the daemon.
func (in *instance) serveArgs() ([]string, error) {
	args := []string{"daemon", "serve", "--data", in.cfg.Data, "--socket", in.cfg.Socket}
	for _, s := range in.app.flags.set {
		args = append(args, "--set", s)
	}
	if in.app.flags.config == "" {
		return args, nil
	}
	config, err := filepath.Abs(in.app.flags.config)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	return append(args, "--config", config), nil
}

// wait returns once the daemon serves. If the daemon ends, the error has its last output and exit code.
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
				hint: ch.tail() + "It may still be loading its data; see " + ch.in.logFile()}
		case <-time.After(pollEvery):
		}
		// gRPC backs off for a second after a failed connection, and a daemon starts faster.
		c.conn.ResetConnectBackoff()
		if ok, _ := c.serving(ctx); ok {
			return nil
		}
	}
}

// failure is the error of a daemon that ended during its start, with its last output.
func (ch *child) failure(err error) error {
	code := exitUnreachable
	if exit, ok := errors.AsType[*exec.ExitError](err); ok &&
		(exit.ExitCode() == exitLocked || exit.ExitCode() == exitCorrupt) {
		code = exit.ExitCode()
	}
	return &cliError{what: "the daemon did not start", code: code, hint: ch.tail() + "Its log: " + ch.in.logFile(),
		cause: err}
}

// tail returns the last lines that the daemon printed.
func (ch *child) tail() string {
	data, err := os.ReadFile(ch.in.logFile())
	if err != nil || int64(len(data)) <= ch.from {
		return ""
	}
	lines := strings.Split(string(bytes.TrimSpace(data[ch.from:])), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n") + "\n"
}

// pause waits for d. It returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// samePath reports whether two paths name the same directory.
func samePath(a, b string) bool {
	if a == b {
		return true
	}
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}
