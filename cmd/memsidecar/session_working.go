package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// sessionWorking is "session working": SessionService.UpdateWorkingMemory if a flag changes something, else
// GetWorkingMemory.
func (a *app) sessionWorking() *cobra.Command {
	req := &pb.SessionServiceUpdateWorkingMemoryRequest{}
	var dir, summary string
	var block bool
	cmd := &cobra.Command{
		Use:   "working SESSION",
		Short: "Show or update the working memory of a session",
		Long: `Show or update the working memory of a session: run directory, tools used, files read, and the
agent's own summary. The daemon already takes tools and files from the tool messages of the session. A run directory
that is not there is made, for its owner only. Working memory ends with its session.

The summary survives a compaction of the agent's context. With --compacted, the next recall of this session contains
it, behind "Current agent state" with directory, tools, date and time. "memsidecar session context" also prints that
after the context.`,
		Example: `  memsidecar session working 7f3c…
  memsidecar session working 7f3c… --summary - --compacted < summary.md
  memsidecar session working 7f3c… --read internal/fetch.go --tool Bash`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "run directory, the base of relative paths")
	f.StringVar(&summary, "summary", "", "replace the summary; - reads standard input, an empty text removes it")
	f.BoolVar(&req.Compacted, "compacted", false, "the agent's context was compacted or is about to be")
	f.StringSliceVar(&req.FilesRead, "read", nil, "files that the agent has read (repeatable)")
	f.StringSliceVar(&req.ToolsUsed, "tool", nil, "tools that the agent has used (repeatable)")
	f.BoolVar(&block, "block", false, "print only the state of the agent, as a context block")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, cmd *cobra.Command, args []string) (err error) {
		if cmd.Flags().Changed("summary") {
			if summary != "" {
				if summary, err = a.text(summary); err != nil {
					return err
				}
			}
			req.Summary = &summary
		}
		if dir != "" {
			if dir, err = filepath.Abs(dir); err != nil {
				return err
			}
			req.RunDirectory = &dir
		}
		if req.SessionId, err = a.sessionID(ctx, c, args[0]); err != nil {
			return err
		}
		req.Space = a.flags.space
		if req.Summary != nil || req.RunDirectory != nil || req.Compacted || len(req.FilesRead)+len(req.ToolsUsed) > 0 {
			resp, err := c.session.UpdateWorkingMemory(ctx, req)
			if err != nil {
				return err
			}
			return a.out.result(resp, func() {
				a.out.printf("Updated%s.\n", operation(resp.GetResult()))
			})
		}
		resp, err := c.session.GetWorkingMemory(ctx, &pb.SessionServiceGetWorkingMemoryRequest{
			Space: req.GetSpace(), SessionId: req.GetSessionId(),
		})
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			if block {
				a.out.printf("%s", resp.GetBlock())
				return
			}
			a.printWorking(resp.GetWorking())
		})
	})
	return cmd
}

// printWorking prints the working memory of a session.
func (a *app) printWorking(w *pb.WorkingMemory) {
	var tools, files []string
	for _, t := range w.GetTools() {
		one := fmt.Sprintf("%s %d", oneLine(t.GetName()), t.GetCount())
		if t.GetFailures() > 0 {
			one += fmt.Sprintf(" (%d failed)", t.GetFailures())
		}
		tools = append(tools, one)
	}
	for _, f := range w.GetFilesRead() {
		files = append(files, oneLine(f))
	}
	a.out.fields([][2]string{
		{"directory", oneLine(w.GetRunDirectory())}, {"tools", strings.Join(tools, ", ")},
		{"recent tools", oneLine(strings.Join(w.GetRecentTools(), ", "))},
		{"files read", strings.Join(files, ", ")}, {"compactions", itoa(int64(w.GetCompactions()))},
		{"summarised", a.when(w.GetSummaryAt())},
	})
	if w.GetSummary() != "" {
		a.out.printf("%s\n", printable(w.GetSummary()))
	}
}

// sessionPath is "session path": SessionService.ResolvePath.
func (a *app) sessionPath() *cobra.Command {
	req := &pb.SessionServiceResolvePathRequest{}
	cmd := &cobra.Command{
		Use:   "path SESSION PATH",
		Short: "Resolve a path against the run directory of a session",
		Long: "Resolve a path against the run directory of a session. A path outside of it is rejected unless " +
			"--outside is given.",
		Args: cobra.ExactArgs(2),
	}
	cmd.Flags().BoolVar(&req.AllowOutside, "outside", false, "allow a path outside the run directory")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		id, err := a.sessionID(ctx, c, args[0])
		if err != nil {
			return err
		}
		req.Space, req.SessionId, req.Path = a.flags.space, id, args[1]
		resp, err := c.session.ResolvePath(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.out.printf("%s\n", printable(resp.GetPath())) })
	})
	return cmd
}
