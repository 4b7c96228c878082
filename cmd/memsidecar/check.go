package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/daemon"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// openData opens a data directory for a command that needs no daemon: the one in args, else the configured one.
func (a *app) openData(args []string) (dir string, root *os.Root, err error) {
	if len(args) > 0 {
		dir, err = filepath.Abs(args[0])
	} else {
		var cfg daemon.Config
		cfg, err = a.load()
		dir = cfg.Data
	}
	if err != nil {
		return "", nil, err
	}
	root, err = os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil, &cliError{what: "no data directory at " + dir, code: exitUsage,
			hint: "Give another directory, or add a memory first."}
	}
	if err != nil {
		return "", nil, fmt.Errorf("open data directory: %w", err)
	}
	return dir, root, nil
}

// checkCommand is "check": AdminService.Check, or a check of the files if no daemon runs.
func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check [DIR]",
		Short: "Verify the integrity of the stored data",
		Long: `Verify the integrity of the stored data: checksums, references and derived state. A running daemon
does the check; with DIR, or if no daemon is running, the files are read directly. Nothing is changed.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				cfg, err := a.load()
				if err != nil {
					return err
				}
				c, err := a.running(cmd.Context(), cfg)
				if err == nil {
					defer c.close()
					return a.checkOnline(cmd.Context(), c)
				}
				if !errors.Is(err, errNotRunning) {
					return err
				}
			}
			return a.checkFiles(args)
		},
	}
}

// checkOnline lets the running daemon check its state against the files.
func (a *app) checkOnline(ctx context.Context, c *client) error {
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	resp, err := c.admin.Check(ctx, &pb.AdminServiceCheckRequest{})
	if err != nil {
		return err
	}
	err = a.out.result(resp, func() {
		for _, p := range resp.GetProblems() {
			a.out.printf("%s\n", p)
		}
		if len(resp.GetProblems()) == 0 {
			a.out.printf("%s %s is intact, up to journal position %s.\n", a.out.colour(green, "✓"), c.info.GetDataDir(),
				resp.GetPosition())
		}
	})
	if err == nil && len(resp.GetProblems()) > 0 {
		return &cliError{what: "the data in " + c.info.GetDataDir() + " is damaged: " +
			plural(int64(resp.GetProblemCount()), "problem", "problems"), code: exitCorrupt,
			hint: "Stop the daemon, copy the directory, then run \"memsidecar daemon repair\"."}
	}
	return err
}

// checkFiles checks the files of a data directory without a daemon.
func (a *app) checkFiles(args []string) error {
	dir, root, err := a.openData(args)
	if err != nil {
		return err
	}
	defer root.Close()
	report, err := store.Check(durable.Dir(root))
	if err != nil {
		return err
	}
	if a.out.json {
		findings := []object{}
		for _, f := range report.Findings {
			findings = append(findings, object{{"file", f.File}, {"line", f.Line}, {"detail", f.Detail}})
		}
		err = a.out.object(object{{"findings", findings}, {"position", itoa(report.LSN)}, {"spaces", report.Spaces},
			{"memories", report.Memories},
			{"logs", report.Logs}, {"sessions", report.Sessions}, {"digest", report.Digest}})
	} else {
		a.printReport(dir, report)
	}
	if err == nil && len(report.Findings) > 0 {
		return &cliError{what: "the data in " + dir + " is damaged: " +
			plural(int64(len(report.Findings)), "problem", "problems"), code: exitCorrupt,
			hint: "Copy the directory, then run \"memsidecar daemon repair " + dir + "\"."}
	}
	return err
}

// printReport prints the result of an offline check.
func (a *app) printReport(dir string, r store.Report) {
	for _, f := range r.Findings {
		where := f.File
		if f.Line > 0 {
			where += fmt.Sprintf(":%d", f.Line)
		}
		a.out.printf("%s: %s\n", where, f.Detail)
	}
	if len(r.Findings) == 0 {
		a.out.printf("%s %s is intact, up to journal position %d: %s in %s, %s, %s.\n", a.out.colour(green, "✓"), dir,
			r.LSN,
			plural(int64(r.Memories), "memory", "memories"), plural(int64(r.Spaces), "space", "spaces"),
			plural(int64(r.Logs), "daily log", "daily logs"), plural(int64(r.Sessions), "session", "sessions"))
		a.out.printf("  digest %s\n", r.Digest)
	}
}
