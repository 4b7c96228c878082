package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say whether the daemon runs and how it does",
		Long:  "Say whether the daemon runs and how it does. No daemon is started; when none runs the exit code is 3.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := a.loadInstance()
			if err != nil {
				return err
			}
			c, err := a.running(cmd.Context(), in.cfg)
			if err != nil {
				return a.statusDown(in, err)
			}
			defer c.close()
			return a.out.result(c.info, func() { a.printInfo(in, c.info, a.waitingEdits(cmd.Context(), c), a.waitingReviews(cmd.Context(), c)) })
		},
	}
}

func (a *app) statusDown(in *instance, err error) error {
	if !errors.Is(err, errNotRunning) {
		return err
	}
	state := "not running"
	hint := "Any command starts it, or: memsidecar start"
	if in.stoppedOnPurpose() {
		state = "not running: stopped with `memsidecar stop`"
		hint = "Start it with `memsidecar start`."
	}
	if a.out.json {
		if err := a.out.object(object{{"running", false}, {"stopped_on_purpose", in.stoppedOnPurpose()}, {"data_dir", in.cfg.Data}, {"socket", in.cfg.Socket}}); err != nil {
			return err
		}
	} else {
		a.out.fields([][2]string{{"daemon", state}, {"data", in.cfg.Data}, {"socket", in.cfg.Socket}, {"log", in.logFile()}})
		a.out.printf("%s\n", hint)
	}
	return failed(exitUnreachable)
}

func (a *app) printInfo(in *instance, info *pb.AdminServiceInfoResponse, edits, reviews string) {
	state := a.out.colour(green, "running")
	switch {
	case info.GetReadOnlyReason() != "":
		state = a.out.colour(red, "read-only: "+oneLine(info.GetReadOnlyReason()))
	case info.GetPaused():
		state = a.out.colour(amber, "capture is paused; go on with `memsidecar resume`")
	}
	a.out.fields([][2]string{
		{"daemon", state}, {"version", info.GetVersion() + ", interface " + info.GetApiVersion()}, {"process", itoa(info.GetPid())},
		{"started", a.when(info.GetStartedAt())}, {"data", info.GetDataDir()}, {"socket", info.GetSocket()},
		{"log", in.logFile()}, {"journal", "position " + itoa(info.GetLsn())}, {"edits", edits}, {"review", reviews}, {"clock", oneLine(info.GetClockDoubt())},
	})
	a.printJobs(info.GetJobs())
}

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

func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pause",
		Short: "Stop capture: messages of sessions and reflections are refused",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			resp, err := c.admin.Pause(ctx, &pb.AdminServicePauseRequest{})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() { a.out.printf("Capture is paused until `memsidecar resume`.\n") })
		}),
	}
}

func (a *app) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "Go on with capture after a pause",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			resp, err := c.admin.Resume(ctx, &pb.AdminServiceResumeRequest{})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() { a.out.printf("Capture goes on.\n") })
		}),
	}
}

func (a *app) healthcheckCommand() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Exit with 0 if the daemon serves, for scripts; it is not started",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			c, err := dial(cfg.Socket)
			if err != nil {
				return err
			}
			defer c.close()
			ctx, cancel := a.deadline(cmd.Context())
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
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it serves, for as long as --timeout")
	return cmd
}

func notServing(socket string, err error) error {
	what := "no daemon answers at " + socket
	if err == nil {
		what = fmt.Sprintf("the daemon at %s does not serve now", socket)
	}
	return &cliError{what: what, code: exitUnreachable, hint: "Start it with `memsidecar start`.", cause: err}
}
