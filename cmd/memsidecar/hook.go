package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/hook"
)

// Times of a hook. The agent waits for it.
const (
	hookPatience = 40 * time.Millisecond // for a daemon that does not answer, and for all of an event in the middle of a turn; with the process some 50
	hookWork     = 2 * time.Second       // for an event at the edge of a turn, once the daemon has shown that it is well
	hookSweep    = 300 * time.Millisecond
	spawnEvery   = 10 * time.Second // at most; for a daemon that does not come up
	maxHookInput = 32 << 20
	maxHookLog   = 1 << 20
)

const hookLong = `Tell the daemon of an event of an agent's session: what the host program of the agent calls by itself once "memsidecar install" has
registered it. The host's JSON is read from standard input, and what the agent is to be told is written in the host's format.

It never fails and never makes the agent wait: when something is wrong, the answer is empty, the exit code is 0 and the reason stands in
hooks/hook.log in the state directory. When no daemon runs, one is started and not waited for. An event in the middle of a turn has 40 ms
in all, unless --timeout says otherwise.

Hosts: %s
Events: session-start, prompt, pre-tool, post-tool, tool-failure, reply, pre-compact, stop, session-end`

func (a *app) hookCommand() *cobra.Command {
	var host string
	var names []string
	for _, h := range hook.Hosts() {
		names = append(names, h.Name)
	}
	cmd := &cobra.Command{
		Use:     "hook --host HOST EVENT",
		Short:   "Tell the daemon of an event of an agent's session; hosts call this",
		Long:    fmt.Sprintf(hookLong, strings.Join(names, ", ")),
		Example: "  memsidecar hook --host claude-code prompt < event.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h := hook.ByName(host)
			if h == nil {
				return usagef("there is no host %q; there are %s", host, strings.Join(names, ", "))
			}
			c := &hookCall{app: a, host: h, kind: hook.Kind(args[0]), patience: hookPatience}
			if cmd.Flags().Changed("timeout") {
				c.patience = a.flags.timeout
			}
			return c.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&host, "host", "", "the agent's host program")
	return cmd
}

// runHook is the whole program for a hook. Its exit code is always 0: to some hosts another one means that what the agent does is to be
// stopped. It builds none of the other commands, because the agent waits.
func runHook(ctx context.Context, a *app, args []string) int {
	defer func() {
		if p := recover(); p != nil {
			a.hookLog("panic: %v", p)
		}
	}()
	root := &cobra.Command{Use: "memsidecar", SilenceErrors: true, SilenceUsage: true}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	a.addGlobals(root)
	root.AddCommand(a.hookCommand())
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		a.hookLog("%s: %v", strings.Join(args, " "), err)
		_, _ = fmt.Fprintln(a.stdout, "{}") // the host is told nothing in any case
	}
	return exitOK
}

// hookCall is one call of a hook.
type hookCall struct {
	app      *app
	host     *hook.Host
	kind     hook.Kind
	patience time.Duration
}

// run reads the event, carries it out and writes the answer. What goes wrong behind the reading of the event is for the log only.
func (c *hookCall) run(ctx context.Context) error {
	data, err := io.ReadAll(io.LimitReader(c.app.stdin, maxHookInput))
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	cfg, err := c.app.load()
	if err != nil {
		return err
	}
	dir, err := hookDir(cfg, c.app.env)
	if err != nil {
		return err
	}
	text := ""
	ev, err := c.host.Decode(c.kind, data)
	if err == nil {
		text, err = c.carryOut(ctx, cfg, dir, ev)
	}
	_, writeErr := c.app.stdout.Write(c.host.Encode(c.kind, text))
	c.mark(dir, err)
	if err != nil {
		c.app.hookLog("%s %s: %s", c.host.Name, c.kind, oneLine(err.Error()))
	}
	return writeErr
}

// hookDir is where the hooks of a daemon keep what they remember: below the state directory, beside those of other daemons.
func hookDir(cfg daemon.Config, env func(string) string) (string, error) {
	state, err := daemon.StateDir(env)
	if err != nil {
		return "", err
	}
	name, err := daemon.InstanceOf(cfg.Data, env)
	if err != nil {
		return "", err
	}
	if name != "" {
		name = "-" + name
	}
	return filepath.Join(state, "hooks"+name), nil
}

func (c *hookCall) carryOut(ctx context.Context, cfg daemon.Config, dir string, ev hook.Event) (string, error) {
	conn, err := dial(cfg.Socket)
	if err != nil {
		return "", err
	}
	defer conn.close()
	r := &hook.Runner{
		Host: c.host, Daemon: &hookDaemon{c: conn, space: c.app.flags.space}, Dir: filepath.Join(dir, "sessions"),
		Home: c.app.env("HOME"), PID: hostPID, Now: c.app.now, Nonce: hookNonce,
	}
	ctx, cancel := c.bound(ctx, conn)
	defer cancel()
	text, err := r.Run(ctx, ev)
	if err != nil && unreachable(err) {
		return text, errors.Join(err, c.startDaemon(cfg, dir))
	}
	if err == nil && ev.Kind == hook.SessionStart {
		ctx, cancel := context.WithTimeout(ctx, hookSweep)
		defer cancel()
		err = r.Sweep(ctx, ev.Session)
	}
	return text, err
}

// bound gives an event its time. At the edges of a turn there is more to do, and it may take longer, if the daemon is well.
func (c *hookCall) bound(ctx context.Context, conn *client) (context.Context, context.CancelFunc) {
	switch c.kind {
	case hook.SessionStart, hook.PreCompact, hook.Stop, hook.SessionEnd:
	default:
		return context.WithTimeout(ctx, c.patience)
	}
	ctx, cancel := context.WithTimeout(ctx, max(hookWork, c.patience))
	probed := make(chan struct{})
	go func() {
		defer close(probed)
		probe, stop := context.WithTimeout(ctx, c.patience)
		defer stop()
		// Where nobody listens, the call itself says so at once.
		if ok, err := conn.serving(probe); !ok && !(err != nil && unreachable(err)) {
			cancel()
		}
	}()
	return ctx, func() {
		cancel()
		<-probed
	}
}

// startDaemon starts one for the next event, unless that was done a moment ago or is not wanted.
func (c *hookCall) startDaemon(cfg daemon.Config, dir string) error {
	in, err := c.app.instance(cfg)
	if err != nil || in.stoppedOnPurpose() || c.app.flags.noStart {
		return err
	}
	mark := filepath.Join(dir, "started")
	if info, err := os.Stat(mark); err == nil && c.app.now().Sub(info.ModTime()).Abs() < spawnEvery {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of hooks: %w", err)
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	_, err = in.spawn()
	return err
}

// mark notes that the hook was called, and how that ended. It is not synced: it proves nothing that would be worth the wait.
func (c *hookCall) mark(dir string, err error) {
	text := outcomeOf(err) + "\n"
	path := filepath.Join(dir, "fired", c.host.Name+"."+string(c.kind))
	if os.WriteFile(path, []byte(text), 0o600) == nil {
		return
	}
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = os.WriteFile(path, []byte(text), 0o600)
	}
}

// How a hook ended, in short; the log has all of it.
const (
	hookOK       = "ok"
	hookNoDaemon = "no daemon answered"
	hookGaveUp   = "gave up waiting"
)

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return hookOK
	case unreachable(err):
		return hookNoDaemon
	case strings.Contains(err.Error(), "DeadlineExceeded"), strings.Contains(err.Error(), "context canceled"):
		return hookGaveUp
	}
	return oneLine(err.Error())
}

// hookLog writes a line to the log of hooks, which never holds what was said in a session.
func (a *app) hookLog(format string, args ...any) {
	state, err := daemon.StateDir(a.env)
	if err != nil {
		return
	}
	path := filepath.Join(state, "hooks", "hook.log")
	if info, err := os.Stat(path); err == nil && info.Size() > maxHookLog {
		_ = os.Rename(path, path+".1")
	}
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = fmt.Fprintf(f, "%s %s\n", a.now().Format(time.RFC3339), fmt.Sprintf(format, args...))
}

func hookNonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
