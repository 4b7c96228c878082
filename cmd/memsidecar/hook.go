package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/metadata"

	"github.com/memsidecar/memsidecar/internal/client/hook"
	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/daemon/userdirs"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/process"
)

// Time limits of a hook. The agent waits for it.
const (
	// for a daemon that does not answer, and for a whole event within a turn; the process adds about 10 ms
	hookTimeLimit = 40 * time.Millisecond
	// for an event at the edge of a turn, once the daemon has answered a health check
	hookEdgeLimit = 2 * time.Second
	// how long the end of a transcript is waited for, when nobody waits for the hook
	hookLateLimit    = 20 * time.Second
	hookRecoverLimit = 300 * time.Millisecond
	spawnEvery       = 10 * time.Second // minimum interval, for a daemon that fails to start
	maxHookInput     = 32 << 20
	maxHookLog       = 1 << 20
)

// lateFlag marks the process that handles an event when its host has written what it concerns.
const lateFlag = "--late"

// spentFlag shortens the time limits by what memsidecar-hook has waited for the daemon.
const spentFlag = "--spent"

const hookLong = `Handle one event of an agent's session. Host programs call this command after "memsidecar
install". It reads the event as the host's JSON from standard input, and writes text for the agent in the host's
format.

The command never fails and never blocks the agent. On any error the output is empty, the exit code is 0, and
hooks/hook.log in the state directory has the reason. If no daemon is running, one is started in the background. An
event within a turn takes at most 40 ms, or --timeout; the process ends after 100 ms whatever hangs, and at once on
SIGTERM.

Hosts: %s

Events: session-start, prompt, pre-tool, post-tool, tool-failure, reply, pre-compact, stop, session-end`

// hookCommand is "hook". w is nil when the command is only described.
func (a *app) hookCommand(w *hookWatchdog) *cobra.Command {
	var host string
	var late bool
	var asked bool
	var spent time.Duration
	var names []string
	for _, h := range hook.Hosts() {
		names = append(names, h.Name)
	}
	cmd := &cobra.Command{
		Use:     "hook --host HOST EVENT",
		Hidden:  true,
		Short:   "Handle an event of an agent's session; hosts call this",
		Long:    fmt.Sprintf(hookLong, strings.Join(names, ", ")),
		Example: "  memsidecar hook --host claude-code prompt < event.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h := hook.ByName(host)
			if h == nil {
				return usagef("unknown host %q; known hosts are %s", host, strings.Join(names, ", "))
			}
			if asked {
				return a.printProbe(h, hook.Kind(args[0]))
			}
			c := &hookCall{app: a, host: h, kind: hook.Kind(args[0]), timeLimit: hookTimeLimit, watchdog: w, late: late}
			if late {
				w.extend(hookLateLimit + hookEdgeLimit + hookSlack)
			}
			if cmd.Flags().Changed("timeout") {
				c.timeLimit = a.flags.timeout // watchHook has read it
			}
			c.timeLimit -= spent
			w.setAnswer(func(text string) { _, _ = a.stdout.Write(h.Encode(c.kind, text)) })
			if spent > hookEdgeLimit { // more than any event has
				return c.giveUp()
			}
			w.shorten(spent)
			return c.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&host, "host", "", "host program of the agent")
	cmd.Flags().BoolVar(&late, strings.TrimPrefix(lateFlag, "--"), false, "wait for the end of the transcript")
	cmd.Flags().DurationVar(&spent, strings.TrimPrefix(spentFlag, "--"), 0, "time that the caller has waited already")
	cmd.Flags().BoolVar(&asked, strings.TrimPrefix(probeFlag, "--"), false, "only print which program this is")
	return cmd
}

// runHook is the program for "memsidecar hook". Its exit code is always 0, because for some hosts another code blocks
// the agent's action. It does not build the other commands, to start faster.
func runHook(ctx context.Context, a *app, args []string) int {
	w := a.watchHook(ctx, args, hookHardLimit, func() { os.Exit(exitOK) })
	defer close(w.stop)
	defer a.logPanic()
	root := a.hookRoot(w)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	a.addGlobals(root)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		a.hookFailed(w, args, err)
	}
	return exitOK
}

// hookRoot is a tree with no other command than "hook".
func (a *app) hookRoot(w *hookWatchdog) *cobra.Command {
	root := &cobra.Command{Use: "memsidecar", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(a.hookCommand(w))
	return root
}

// hookFailed logs an error of a hook's command line or configuration, and answers nothing.
func (a *app) hookFailed(w *hookWatchdog, args []string, err error) {
	a.hookLog("%s: %v", strings.Join(args, " "), err)
	w.tell("")
}

// logPanic is deferred: it ends a panic of a hook with a line in the log.
func (a *app) logPanic() {
	if p := recover(); p != nil {
		a.hookLog("panic: %v", p)
	}
}

// hookCall handles one event.
type hookCall struct {
	app       *app
	host      *hook.Host
	kind      hook.Kind
	timeLimit time.Duration
	watchdog  *hookWatchdog
	late      bool // this process has nobody waiting for it
}

// run reads the event, handles it and writes the answer. Errors after reading go to the log only.
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
	switch {
	case err != nil:
	case c.kind == hook.SessionEnd && c.app.inside != nil: // it may read all of a transcript, or leave a process behind
		return memory.ErrOwnProcess
	case c.kind == hook.SessionEnd && c.host.WritesLate() && !c.late:
		err = c.handOver(ctx, cfg, ev, data)
	default:
		text, err = c.handle(ctx, cfg, dir, ev)
	}
	if errors.Is(err, memory.ErrOwnProcess) {
		return err
	}
	c.watchdog.tell(text)
	c.recordCall(dir, err)
	if err != nil && !errors.Is(err, hook.ErrPaused) {
		c.app.hookLog("%s %s: %s", c.host.Name, c.kind, plainly(err))
	}
	return nil
}

// giveUp answers nothing, because the time of the event is over, and records that.
func (c *hookCall) giveUp() error {
	c.watchdog.tell("")
	err := fmt.Errorf("there was no answer in time: %w", context.DeadlineExceeded)
	c.app.hookLog("%s %s: %v", c.host.Name, c.kind, err)
	cfg, loadErr := c.app.load()
	if loadErr != nil {
		return loadErr
	}
	dir, dirErr := hookDir(cfg, c.app.env)
	if dirErr == nil {
		c.recordCall(dir, err)
	}
	return dirErr
}

// handOver lets a process of its own handle the end of a session, for a host that writes its transcript when its hooks
// have ended. To the daemon that process is the host of the session from now on: it does not take the session to have
// ended with the host, which would teach it in halves, and ends it should that process die.
func (c *hookCall) handOver(ctx context.Context, cfg daemon.Config, ev hook.Event, data []byte) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the late hook: %w", err)
	}
	defer read.Close()
	cmd := exec.Command(exe, append(slices.Clone(os.Args[1:]), lateFlag)...)
	cmd.Dir, cmd.Stdin = "/", read
	process.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start the late hook: %w", err), write.Close())
	}
	_, err = write.Write(data) // the event of a session's end fits into a pipe that nobody reads yet
	if err = errors.Join(err, write.Close()); err != nil {
		return fmt.Errorf("start the late hook: %w", err)
	}
	conn, err := dial(cfg.Socket)
	if err != nil {
		return err
	}
	defer conn.close()
	ctx, cancel := c.bound(ctx, conn)
	defer cancel()
	d := &hookDaemon{c: conn, space: c.app.flags.space, tools: func(string) string { return "" }}
	_, err = d.Start(ctx, hook.Start{Session: ev.Session, Host: c.host.Name, Cwd: ev.Cwd, HostPID: cmd.Process.Pid})
	return err
}

// hookDir is the directory for the state of hooks, one for each daemon, below the state directory.
func hookDir(cfg daemon.Config, env func(string) string) (string, error) {
	state, err := userdirs.State(env)
	if err != nil {
		return "", err
	}
	name, err := userdirs.Instance(cfg.Data, env)
	if err != nil {
		return "", err
	}
	if name != "" {
		name = "-" + name
	}
	return filepath.Join(state, "hooks"+name), nil
}

// handle sends the event to the daemon and returns the text for the agent. If no daemon is running, it starts one
// for the next event.
func (c *hookCall) handle(ctx context.Context, cfg daemon.Config, dir string, ev hook.Event) (string, error) {
	conn, err := c.app.dial(cfg.Socket)
	if err != nil {
		return "", err
	}
	defer conn.close()
	// Every call names its host, so that one that is paused gets no memories in a session that the daemon does not
	// know.
	ctx = metadata.AppendToOutgoingContext(ctx, memory.HostKey, c.host.Name)
	r := &hook.Runner{
		Host: c.host, Daemon: &hookDaemon{c: conn, space: c.app.flags.space,
			contextTokens: min(cfg.ContextTokens, hostContextTokens),
			tools:         func(dir string) string { return c.app.hostTools(c.host, dir) }}, Dir: filepath.Join(dir, "sessions"),
		Home: c.app.env("HOME"), PID: func() int { return hostPID(c.app.parent) }, Now: c.app.now, Nonce: hookNonce,
	}
	if c.app.inside != nil {
		r.Opens = c.app.inside.opens
	}
	if c.late {
		waiting, stop := context.WithTimeout(ctx, hookLateLimit)
		err = r.AwaitTranscript(waiting, ev) // what is there in the end is read all the same
		stop()
	}
	ctx, cancel := c.bound(ctx, conn)
	defer cancel()
	text, lateErr := "", err
	text, err = r.Run(ctx, ev)
	err = errors.Join(lateErr, err)
	if err != nil && unreachable(err) {
		if c.app.inside != nil { // it is about to stop
			return "", memory.ErrOwnProcess
		}
		return text, errors.Join(err, c.startDaemon(cfg, dir))
	}
	if err == nil && ev.Kind == hook.SessionStart {
		ctx, cancel := context.WithTimeout(ctx, hookRecoverLimit)
		defer cancel()
		err = r.RecoverOrphans(ctx, ev.Session)
	}
	return text, err
}

// bound limits the time of an event. An event at the edge of a turn may take longer if the daemon is healthy.
func (c *hookCall) bound(ctx context.Context, conn *client) (context.Context, context.CancelFunc) {
	switch c.kind {
	case hook.SessionStart, hook.PreCompact, hook.Stop, hook.SessionEnd:
	default:
		return context.WithTimeout(ctx, c.timeLimit)
	}
	ctx, cancel := context.WithTimeout(ctx, max(hookEdgeLimit, c.timeLimit))
	probed := make(chan struct{})
	go func() {
		defer close(probed)
		probe, stop := context.WithTimeout(ctx, c.timeLimit)
		defer stop()
		// If no daemon listens, the call itself fails at once.
		ok, err := conn.serving(probe)
		if ok {
			c.watchdog.extend(max(hookEdgeLimit, c.timeLimit) + hookSlack)
		} else if !(err != nil && unreachable(err)) {
			cancel()
		}
	}()
	return ctx, func() {
		cancel()
		<-probed
	}
}

// startDaemon starts a daemon for the next event, unless a hook just did or it is not allowed.
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
		return fmt.Errorf("create hook directory: %w", err)
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	_, err = in.spawn()
	return err
}

// recordCall records the time and outcome of the call for "install status" and "doctor". It is not synced: losing it
// does no harm.
func (c *hookCall) recordCall(dir string, err error) {
	outcome := outcomeOf(err)
	name := c.host.Name + "." + string(c.kind)
	// Written over, and cut off behind: ext4 starts to write a file to disk when it is closed after it was emptied,
	// which takes a third of a millisecond, and the host waits for it.
	if f := openMark(filepath.Join(dir, "fired", name), 0); f != nil {
		_, _ = f.WriteString(outcome + "\n")
		_ = f.Truncate(int64(len(outcome)) + 1)
		_ = f.Close()
	}
	if outcome != hookTimeout {
		return
	}
	// One byte each: hooks run at the same time, and appending needs no lock.
	if f := openMark(filepath.Join(dir, "timeouts", name), os.O_APPEND); f != nil {
		_, _ = f.WriteString(".")
		_ = f.Close()
	}
}

// openMark opens a file for writing and makes it, and its directory, when they are missing. Errors are of no
// consequence: it returns nil then.
func openMark(path string, how int) *os.File {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o600)
	if errors.Is(err, os.ErrNotExist) && os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o600)
	}
	if err != nil {
		return nil
	}
	return f
}

// Outcomes of a hook; the log has the details.
const (
	hookOK       = "ok"
	hookNoDaemon = "no daemon was running"
	hookTimeout  = "timed out"
	hookPaused   = "paused"
)

// outcomeOf is the outcome to record for an error.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return hookOK
	case errors.Is(err, hook.ErrPaused):
		return hookPaused
	case unreachable(err):
		return hookNoDaemon
	case errors.Is(err, context.DeadlineExceeded), strings.Contains(err.Error(), "DeadlineExceeded"), strings.Contains(err.Error(), "context canceled"):
		return hookTimeout
	}
	return plainly(err)
}

// plainly is an error on one line without the words of the transport.
func plainly(err error) string {
	text := oneLine(err.Error())
	for {
		before, rest, found := strings.Cut(text, "rpc error: code = ")
		if !found {
			return text
		}
		_, text, _ = strings.Cut(rest, " desc = ")
		text = before + text
	}
}

// hookLog appends a line to the hook log, which never contains session text.
func (a *app) hookLog(format string, args ...any) {
	state, err := userdirs.State(a.env)
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

// hookNonce is a random number for the fence around injected text.
func hookNonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails
	return hex.EncodeToString(b[:])
}
