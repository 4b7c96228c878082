package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// statusCommand is "status" and "daemon status": AdminService.Info.
func (a *app) statusCommand() *cobra.Command {
	var check, wait bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show daemon status",
		Long: `Show daemon status: version, data directory, journal position, pending edits and reviews, and
background jobs. This command never starts a daemon; if none runs, the exit code is 3.

With --check it prints one line, and the exit code is 0 only if the daemon serves requests. With --wait it waits for
that, at most --timeout.`,
		Example: `  memsidecar status
  memsidecar status --check --wait --timeout 10s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check || wait {
				return a.checkServing(cmd.Context(), wait)
			}
			in, err := a.loadInstance()
			if err != nil {
				return err
			}
			c, err := a.running(cmd.Context(), in.cfg)
			if err != nil {
				return a.statusDown(in, err)
			}
			defer c.close()
			return a.out.result(c.info, func() {
				a.printInfo(in, c.info, a.pendingEdits(cmd.Context(), c), a.pendingReviews(cmd.Context(), c))
			})
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only check that the daemon serves, for scripts")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the daemon serves (implies --check)")
	return cmd
}

// statusDown reports that no daemon is running, and why.
func (a *app) statusDown(in *instance, err error) error {
	if !errors.Is(err, errNotRunning) {
		return err
	}
	state := "not running"
	hint := "Any command starts it, or run `memsidecar daemon start`."
	if in.stoppedOnPurpose() {
		state = "not running: stopped with `memsidecar daemon stop`"
		hint = "Start it with `memsidecar daemon start`."
	}
	if a.out.json {
		if err := a.out.object(object{{"running", false}, {"stopped_on_purpose", in.stoppedOnPurpose()},
			{"data_dir", in.cfg.Data}, {"socket", in.cfg.Socket}}); err != nil {
			return err
		}
	} else {
		a.out.fields([][2]string{{"daemon", state}, {"data", in.cfg.Data}, {"socket", in.cfg.Socket},
			{"log", in.logFile()}})
		a.out.printf("%s\n", hint)
	}
	return failed(exitUnreachable)
}

// printInfo prints the state of a running daemon.
func (a *app) printInfo(in *instance, info *pb.AdminServiceInfoResponse, edits, reviews string) {
	state := a.out.colour(green, "running")
	switch {
	case info.GetReadOnlyReason() != "":
		state = a.out.colour(red, "read-only: "+oneLine(info.GetReadOnlyReason()))
	case info.GetPaused():
		state = a.out.colour(amber, "recording is paused; resume with `memsidecar daemon resume`")
	}
	a.out.fields([][2]string{
		{"daemon", state}, {"version", info.GetVersion() + ", API " + info.GetApiVersion()},
		{"process", itoa(info.GetPid())},
		{"started", a.when(info.GetStartedAt())}, {"data", info.GetDataDir()}, {"socket", info.GetSocketPath()},
		{"log", in.logFile()}, {"journal", "position " + info.GetPosition()}, {"edits", edits}, {"review", reviews},
		{"paused", strings.Join(info.GetPausedHosts(), ", ")},
		{"clock", oneLine(info.GetClockWarning())},
	})
	a.printJobs(info.GetJobs())
}

// printJobs prints the background jobs as a table.
func (a *app) printJobs(jobs []*pb.Job) {
	var rows [][]string
	for _, j := range jobs {
		result := oneLine(j.GetLastResult())
		if j.GetLastError() != "" {
			result = a.out.colour(amber, oneLine("failed: "+j.GetLastError()))
		}
		rows = append(rows, []string{j.GetName(), a.when(j.GetLastRun()), stamp(j.GetNextRun()), result})
	}
	if len(rows) > 0 {
		a.out.printf("\n")
		a.out.table([]string{"JOB", "LAST RUN", "NEXT RUN", "RESULT"}, rows)
	}
}

// checkServing is status --check: it prints one line and fails unless the daemon serves.
func (a *app) checkServing(ctx context.Context, wait bool) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	c, err := dial(cfg.Socket)
	if err != nil {
		return err
	}
	defer c.close()
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	for {
		ok, err := c.serving(ctx)
		if ok {
			if a.out.json {
				return a.out.object(object{{"serving", true}})
			}
			a.out.printf("serving\n")
			return nil
		}
		if !wait || !pause(ctx, pollEvery) {
			return notServing(cfg.Socket, err)
		}
		c.conn.ResetConnectBackoff()
	}
}

// notServing is the error of status --check; err is that of the last health check, nil if the daemon answered.
func notServing(socket string, err error) error {
	what := "no daemon is running at " + socket
	if err == nil {
		what = fmt.Sprintf("the daemon at %s is not serving", socket)
	}
	return &cliError{what: what, code: exitUnreachable, hint: "Start it with `memsidecar daemon start`.", cause: err}
}
