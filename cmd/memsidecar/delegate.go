package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/rpc"
)

// Bounds of commands inside the daemon.
const (
	// A command that hangs in the file system keeps its place until it returns; the others are refused, and run in
	// processes of their own.
	maxDelegated = 32
	// less than the limit of the process that waits, which answers for itself then
	delegateHardLimit = 85 * time.Millisecond
)

// delegate runs hooks and recalls inside the daemon for memsidecar-hook: the same code as in a process of its own, with
// the arguments, the environment and the input of the other process. It is safe for concurrent use.
type delegate struct {
	cfg    daemon.Config
	client *client
	places chan struct{}
	opens  *hook.Opens
}

// newDelegate returns a delegate for the daemon of cfg.
func newDelegate(cfg daemon.Config) (*delegate, error) {
	c, err := dial(cfg.Socket)
	if err != nil {
		return nil, err
	}
	c.shared = true
	return &delegate{cfg, c, make(chan struct{}, maxDelegated), new(hook.Opens)}, nil
}

// close closes the connection to the daemon.
func (d *delegate) close() { _ = d.client.conn.Close() }

// run is an rpc.RunCommand. What fails in a recall is refused, so that a process of its own reports it.
func (d *delegate) run(ctx context.Context, c rpc.Command) ([]byte, error) {
	select {
	case d.places <- struct{}{}:
	default:
		return nil, memory.ErrBusy
	}
	free := sync.OnceFunc(func() { <-d.places })
	out := &lockedBuffer{}
	a := newApp(bytes.NewReader(c.Stdin), out, io.Discard, environment(c.Env))
	a.inside, a.parent = d, c.ParentPID
	a.dir = func() (string, error) { return c.Dir, nil }
	switch {
	case len(c.Args) == 0 || a.env("TZ") != os.Getenv("TZ"):
	case c.Args[0] == "recall":
		defer free()
		root := &cobra.Command{Use: "memsidecar", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(a.recallCommand())
		if d.execute(ctx, a, root, c.Args) != nil {
			break
		}
		return out.Bytes(), nil
	case isHook(c.Args):
		return d.runHook(ctx, a, c, free)
	}
	free()
	return nil, memory.ErrOwnProcess
}

// runHook runs a hook until it or its watchdog ends. One that hangs keeps its place.
func (d *delegate) runHook(ctx context.Context, a *app, c rpc.Command, free func()) ([]byte, error) {
	ended := make(chan error, 2)
	w := a.watchHook(ctx, c.Args, delegateHardLimit, func() { ended <- nil })
	w.slow = c.Slow
	go func() {
		defer free()
		err := memory.ErrOwnProcess
		defer func() {
			close(w.stop) // before the call ends, and its context with it
			ended <- err
		}()
		defer a.logPanic()
		root := a.hookRoot(w)
		if err = d.execute(ctx, a, root, c.Args); err != nil && !errors.Is(err, memory.ErrOwnProcess) {
			a.hookFailed(w, c.Args, err)
			err = nil
		}
	}()
	if err := <-ended; err != nil {
		return nil, err
	}
	return a.stdout.(*lockedBuffer).Bytes(), nil
}

// execute runs a command that is for this daemon, and refuses any other before it does anything.
func (d *delegate) execute(ctx context.Context, a *app, root *cobra.Command, args []string) error {
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	a.addGlobals(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		a.parsed(cmd, args)
		if a.flags.config != "" && !filepath.IsAbs(a.flags.config) {
			return memory.ErrOwnProcess
		}
		cfg, err := a.load() // as the other process would
		if err != nil || cfg.Socket != d.cfg.Socket {
			return memory.ErrOwnProcess
		}
		a.config = &cfg
		return nil
	}
	if slices.ContainsFunc(args, needsProcess) {
		return memory.ErrOwnProcess
	}
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// needsProcess reports whether an argument makes a command one about the process that runs it.
func needsProcess(arg string) bool {
	return arg == probeFlag || arg == lateFlag || arg == "--help" || arg == "-h"
}

// environment returns a lookup of variables that are written as NAME=VALUE.
func environment(list []string) func(string) string {
	vars := make(map[string]string, len(list))
	for _, v := range list {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	return func(name string) string { return vars[name] }
}

// lockedBuffer is a buffer for a command and the watchdog that ends it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends p.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// Bytes returns a copy of what was written.
func (b *lockedBuffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes())
}
