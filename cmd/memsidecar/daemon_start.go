package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/process"
)

// startCommand is "daemon start".
func (a *app) startCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start the daemon in the background",
		Long: `Start the daemon in the background and wait until it serves. Other commands also start it, unless it
was stopped with "memsidecar daemon stop".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := a.loadInstance()
			if err != nil {
				return err
			}
			c, err := a.running(cmd.Context(), in.cfg)
			if err == nil {
				defer c.close()
				if len(a.flags.set) > 0 {
					return &cliError{what: "the daemon is already running, with the settings that it was started with",
						code: exitError, hint: "Run \"memsidecar daemon stop\" first."}
				}
				return a.printStarted(c, in, "is already running")
			}
			if !errors.Is(err, errNotRunning) {
				return err
			}
			return a.startAndReport(cmd.Context(), in, "started")
		},
	}
	a.addSet(cmd)
	return cmd
}

// loadInstance reads the configuration and finds the daemon that it describes.
func (a *app) loadInstance() (*instance, error) {
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	return a.instance(cfg)
}

// startAndReport starts the daemon and its systemd socket, and reports its process.
func (a *app) startAndReport(ctx context.Context, in *instance, verb string) error {
	in.socketUnit(ctx, "start")
	if err := in.start(ctx); err != nil {
		return err
	}
	if err := in.setStopped(false); err != nil {
		return err
	}
	c, err := a.running(ctx, in.cfg)
	if err != nil {
		return err
	}
	defer c.close()
	return a.printStarted(c, in, verb)
}

// printStarted reports the process and the data directory.
func (a *app) printStarted(c *client, in *instance, verb string) error {
	return a.out.result(c.info, func() {
		a.out.printf("The daemon %s: process %d, data in %s.\n", verb, c.info.GetPid(), c.info.GetDataDir())
	})
}

// stopCommand is "daemon stop": AdminService.Stop. The mark is written first, so that no client starts another
// daemon meanwhile.
func (a *app) stopCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stop",
		Short: "Stop the daemon",
		Long: `Stop the daemon. It finishes requests in progress and publishes the files first. It stays stopped
until "memsidecar daemon start" or "memsidecar daemon serve"; other commands do not start it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := a.loadInstance()
			if err != nil {
				return err
			}
			stopped := false
			err = in.exclusively(cmd.Context(), func() (err error) {
				if err := in.setStopped(true); err != nil {
					return err
				}
				in.socketUnit(cmd.Context(), "stop")
				stopped, err = a.stop(cmd.Context(), in)
				return err
			})
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.object(object{{"stopped", stopped}})
			}
			if !stopped {
				a.out.printf("No daemon was running. Commands will not start one until \"memsidecar daemon start\".\n")
				return nil
			}
			a.out.printf("Stopped the daemon. It stays stopped until \"memsidecar daemon start\".\n")
			return nil
		},
	}
}

// stop stops the daemon and waits until its process has ended. It returns false if no daemon was running.
func (a *app) stop(ctx context.Context, in *instance) (bool, error) {
	c, err := a.running(ctx, in.cfg)
	if errors.Is(err, errNotRunning) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	if _, err := c.admin.Stop(ctx, &pb.AdminServiceStopRequest{}); err != nil && !unreachable(err) {
		return false, err
	}
	pid := int(c.info.GetPid())
	began := a.now()
	noted := false
	for !process.Ended(pid) {
		if !noted && a.now().Sub(began) > progressWait {
			noted = true
			a.out.note("waiting for the daemon to stop …")
		}
		if !pause(ctx, pollEvery) {
			return true, &cliError{what: fmt.Sprintf("the daemon (process %d) is still running %s after the request "+
				"to stop", pid, stopWait.Round(time.Second)),
				hint: fmt.Sprintf("See its log, %s. \"kill -9 %d\" ends it without losing acknowledged data.",
					in.logFile(), pid), cause: ctx.Err()}
		}
	}
	return true, nil
}

// restartCommand is "daemon restart". The start lock is held from the stop to the start.
func (a *app) restartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restart",
		Short: "Restart the daemon with this version of the program",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := a.loadInstance()
			if err != nil {
				return err
			}
			err = in.exclusively(cmd.Context(), func() error {
				if _, err := a.stop(cmd.Context(), in); err != nil {
					return err
				}
				return in.startLocked(cmd.Context())
			})
			if err != nil {
				return err
			}
			return a.startAndReport(cmd.Context(), in, "was restarted")
		},
	}
}
