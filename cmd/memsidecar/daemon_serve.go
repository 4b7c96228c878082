package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/process/garbage"
	"github.com/memsidecar/memsidecar/internal/rpc/unixsock/listener"
)

// serveCommand is "daemon serve": the daemon itself.
func (a *app) serveCommand() *cobra.Command {
	var check bool
	var node fleetFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon in the foreground",
		Long: `Run the daemon in the foreground, for a service manager or for debugging. It supports systemd socket
activation and readiness notification; "memsidecar daemon service install" sets them up.

With --fleet the daemon is a node of a fleet: many daemons serve the spaces of one PostgreSQL database, and any of them
serves any space. A space is opened from the database when a request names it, created by the first write to it, and
dropped from this node when nobody used it for a while and the database has everything. The data directory must be
empty at first, or of a node. A reply to a write waits until the database has it, so a disk that vanishes takes nothing
acknowledged with it; daily logs and sessions stay on the node, and go with the space. docs/shared.md has a tutorial.

SIGINT or SIGTERM stops it gracefully: it finishes requests in progress and publishes the files. A second signal
ends it at once, without losing acknowledged data.`,
		Example: `  memsidecar daemon serve --check
  memsidecar serve --fleet postgres://memsidecar@db.example.com/memories`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.flags.set = append(a.flags.set, node.settings()...)
			cfg, err := a.load()
			if err != nil {
				return err
			}
			if check {
				a.out.printf("The configuration is valid: data in %s, socket %s.\n", cfg.Data, cfg.Socket)
				return nil
			}
			in, err := a.instance(cfg)
			if err != nil {
				return err
			}
			log, closeLog := queuedLogger(a.stderr, cfg.LogLevel)
			defer closeLog()
			listener, err := listener.Inherited(a.env, cfg.Socket)
			if err != nil {
				return err
			}
			commands, err := newDelegate(cfg)
			if err != nil {
				return err
			}
			defer commands.close()
			machine, err := a.machine(cfg)
			if err != nil {
				return err
			}
			var limiter garbage.Limiter
			if a.env("GOGC") == "" { // it sets another share
				go limiter.Limit(cmd.Context())
			}
			if err := garbage.LimitToContainer(cmd.Context()); err != nil {
				log.Warn("the memory limit of the control group is not known, so the heap has none", "err", err)
			}
			return daemon.Run(cmd.Context(), cfg, daemon.Options{
				Command:  commands.run,
				Machine:  machine,
				Logger:   log,
				Version:  programVersion(),
				Listener: listener,
				Loading:  limiter.Loading,
				Abort: func() {
					closeLog()
					os.Exit(exitError)
				},
				Ready: func(socket string) {
					a.refreshHookProgram(log)
					if err := in.setStopped(false); err != nil {
						log.Warn("the mark of an earlier stop could not be removed", "err", err)
					}
					if err := a.notify("READY=1"); err != nil {
						log.Warn("service manager was not notified", "err", err)
					}
				},
			})
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only check the configuration and exit")
	node.add(cmd)
	a.addSet(cmd)
	return cmd
}

// fleetFlags are the flags of a node of a fleet; "" is not given.
type fleetFlags struct{ url, ack, idle, bytes string }

// add adds them to a command.
func (f *fleetFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.url, "fleet", "", "be a node of the fleet at the database `URL`")
	flags.StringVar(&f.ack, "ack", "", "what replies to writes wait for in a fleet: shared (default), or local")
	flags.StringVar(&f.idle, "fleet-idle", "", "drop a space that nobody used for this `TIME` (default 10m)")
	flags.StringVar(&f.bytes, "fleet-bytes", "", "drop the longest unused when open spaces take more `BYTES` (default 1GiB)")
}

// settings are the flags that were given, as settings.
func (f *fleetFlags) settings() (out []string) {
	for _, s := range [][2]string{{"fleet", f.url}, {"fleet_ack", f.ack}, {"fleet_idle", f.idle}, {"fleet_bytes", f.bytes}} {
		if s[1] != "" {
			out = append(out, s[0]+"="+s[1])
		}
	}
	return out
}

// logFlush is how long the end of the daemon waits for the reader of the log.
const logFlush = 500 * time.Millisecond

// queuedLogger is newLogger for a program that must never wait for the reader of its log. done writes what is queued.
func queuedLogger(w io.Writer, level slog.Level) (log *slog.Logger, done func()) {
	q := daemon.NewLogQueue(w)
	return loggerTo(q, columns(w) > 0, level), func() { q.Close(logFlush) }
}

// newLogger logs text to a terminal and JSON elsewhere.
func newLogger(w io.Writer, level slog.Level) *slog.Logger { return loggerTo(w, columns(w) > 0, level) }

// loggerTo logs text for people, else JSON.
func loggerTo(w io.Writer, people bool, level slog.Level) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if people {
		return slog.New(slog.NewTextHandler(w, opts))
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}
