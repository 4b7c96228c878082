package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) recallCommand() *cobra.Command {
	req := &pb.SearchServiceRecallRequest{}
	var orNothing, project bool
	cmd := &cobra.Command{
		Use:   "recall [TEXT|-]",
		Short: "Show what an agent is told of its memories for a prompt",
		Long: `Show what an agent is told of its memories for a prompt: up to three that fit, and rules about the tools that it names or
that are in use, as one block within a budget. Nothing is a usual answer; --json says why.

In a session nothing is shown twice, unless it has changed since. With --explicit the agent itself asks: more memories, more
text of each, and also those that were shown before.

With --or-nothing a prompt never waits and never fails: when the daemon does not run, is being restarted, was stopped or takes too long (30 ms, or
--timeout), nothing is printed, the exit code is 0, and the daemon's log says why. One that does not run is started meanwhile.`,
		Example: `  memsidecar recall "how do we deploy?" --session 7f3c…
  memsidecar recall 注释用什么语言 --explicit
  memsidecar recall traces --session 7f3c…`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&req.SessionId, "session", "", "session of the host, in which nothing is shown twice")
	f.Int32Var(&req.MaxTokens, "tokens", 0, "budget in tokens, 50 to 8000 (default 1500; 8000 with --explicit)")
	f.Int32VarP(&req.MaxItems, "items", "k", 0, "most memories that fit, 1 to 5 (default as configured; 5 with --explicit)")
	f.BoolVar(&req.Explicit, "explicit", false, "the agent itself asks")
	f.StringSliceVar(&req.WorkingTools, "tool", nil, "tools in use")
	f.StringSliceVar(&req.FilesRead, "read", nil, "files that the agent has just read; what was taken from them is left out")
	f.BoolVar(&project, "project", false, "look in the space of this directory's project too")
	f.StringVar(&req.ProjectDirectory, "cwd", "", "the same for the project of another directory")
	f.BoolVar(&orNothing, "or-nothing", false, "for the hook of a prompt: whatever happens, end well and soon, with nothing if need be; the log says why")
	asked := a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if req.Text, err = a.text(strings.Join(args, " ")); err != nil {
			return err
		}
		req.Spaces = a.spaces()
		resp, err := c.search.Recall(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.out.printf("%s", resp.GetBlock()) })
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		switch {
		case req.ProjectDirectory != "":
			req.ProjectDirectory, err = filepath.Abs(req.ProjectDirectory)
		case project:
			req.ProjectDirectory, err = os.Getwd()
		}
		if err != nil && !orNothing {
			return err
		}
		if !orNothing {
			return asked(cmd, args)
		}
		limit := promptWait
		if cmd.Flags().Changed("timeout") && a.flags.timeout > 0 {
			limit = a.flags.timeout
		}
		return a.recallOrNothing(cmd.Context(), req, strings.Join(args, " "), limit)
	}
	cmd.AddCommand(a.recallTraces())
	return cmd
}

func (a *app) recallTraces() *cobra.Command {
	req := &pb.SearchServiceListRecallsRequest{}
	cmd := &cobra.Command{
		Use:   "traces",
		Short: "List which prompts brought up which memories, since the start of the daemon",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().StringVar(&req.SessionId, "session", "", "only those for this session")
	cmd.Flags().StringVar(&req.MemoryId, "memory", "", "only those that showed this memory")
	cmd.Flags().Int32Var(&req.MaxResults, "limit", 50, "most recalls, 1 to 1000")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		resp, err := c.search.ListRecalls(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			if len(resp.GetRecalls()) == 0 {
				a.out.printf("Nothing was recalled since the daemon was started.\n")
				return
			}
			var rows [][]string
			for _, r := range resp.GetRecalls() {
				var ids []string
				for _, m := range r.GetMemories() {
					ids = append(ids, m.GetId())
				}
				rows = append(rows, []string{a.out.age(r.GetAt().AsTime()), r.GetSessionId(), strings.Join(ids, " "), oneLine(r.GetQuery())})
			}
			a.out.table([]string{"WHEN", "SESSION", "MEMORIES", "PROMPT"}, rows)
		})
	})
	return cmd
}
