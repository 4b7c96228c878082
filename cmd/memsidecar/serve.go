package main

import (
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/unixsock"
)

func (a *app) serveCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon in the foreground",
		Long: `Run the daemon in the foreground, for a service manager or to watch it work. A socket that systemd passes on is taken
over, and systemd is told when requests are answered; "memsidecar service install" sets that up.

An interrupt or a termination signal stops it gracefully: calls in progress are finished and the files are
written. A second one ends it at once, which loses nothing that was acknowledged.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			log := newLogger(a.stderr, cfg.LogLevel)
			listener, err := unixsock.Inherited(a.env, cfg.Socket)
			if err != nil {
				return err
			}
			return daemon.Run(cmd.Context(), cfg, daemon.Options{
				Logger:   log,
				Version:  programVersion(),
				Listener: listener,
				Ready: func(socket string) {
					if err := in.setStopped(false); err != nil {
						log.Warn("mark of an earlier stop stays", "err", err)
					}
					if err := a.notify("READY=1"); err != nil {
						log.Warn("service manager does not know that the daemon is ready", "err", err)
					}
				},
			})
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only check the configuration")
	return cmd
}

// newLogger writes text to a terminal and JSON to anything else.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if columns(w) > 0 {
		return slog.New(slog.NewTextHandler(w, opts))
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}
