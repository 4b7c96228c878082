package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// recallCommand is "recall": SearchService.Recall.
func (a *app) recallCommand() *cobra.Command {
	req := &pb.SearchServiceRecallRequest{}
	var orNothing, project bool
	cmd := &cobra.Command{
		Use:   "recall [TEXT|-]",
		Short: "Show the memories that would be injected for a prompt",
		Long: `Show the memories that would be injected for a prompt: up to three relevant memories, and rules about
the tools that the prompt names or that are in use, as one block within a token budget. The output is often empty;
--json gives the reason.

With --session, a memory is shown once per session unless it changes. With --explicit, the request comes from the
agent itself: it gets more memories, longer texts, and also memories that were shown before.

With --or-nothing, the command never fails and never blocks a prompt. If the daemon is not running or does not
answer within 30 ms (or --timeout), the output is empty, the exit code is 0, and the daemon's log has the reason. A
daemon that is not running is started in the background.`,
		Example: `  memsidecar recall "how do we deploy?" --session 7f3c…
  memsidecar recall 注释用什么语言 --explicit
  memsidecar recall traces --session 7f3c…`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&req.SessionId, "session", "", "session id of the host; a memory is shown once per session")
	f.Int32Var(&req.TokenBudget, "tokens", 0, "token budget, 50 to 8000 (default 1500; 8000 with --explicit)")
	f.Int32VarP(&req.Limit, "limit", "k", 0,
		"maximum number of memories, 1 to 5 (default: as configured; 5 with --explicit)")
	f.BoolVar(&req.Explicit, "explicit", false, "the request comes from the agent itself")
	f.StringSliceVar(&req.WorkingTools, "tool", nil, "tools in use (repeatable)")
	f.StringSliceVar(&req.FilesRead, "read", nil,
		"files that the agent has just read; memories taken from them are omitted")
	f.BoolVar(&project, "project", false, "also search the space of the project in this directory")
	f.StringVar(&req.ProjectDirectory, "cwd", "", "also search the space of the project in this other directory")
	addMinPositions(f, &req.MinPositions)
	f.BoolVar(&orNothing, "or-nothing", false, "for prompt hooks: never fail or block; print nothing on any error")
	recall := a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
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
			req.ProjectDirectory, err = a.abs(req.ProjectDirectory)
		case project:
			req.ProjectDirectory, err = a.dir()
		}
		if err != nil && !orNothing {
			return err
		}
		if !orNothing {
			return recall(cmd, args)
		}
		limit := promptWait
		if cmd.Flags().Changed("timeout") && a.flags.timeout > 0 {
			limit = a.flags.timeout
		}
		return a.recallOrNothing(cmd.Context(), req, strings.Join(args, " "), limit)
	}
	cmd.AddCommand(a.hintCommand(), a.recallTraces())
	return cmd
}

// abs makes a path absolute, from the working directory of the command.
func (a *app) abs(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	dir, err := a.dir()
	return filepath.Join(dir, path), err
}

// recallTraces is "recall traces": SearchService.ListRecalls.
func (a *app) recallTraces() *cobra.Command {
	req := &pb.SearchServiceListRecallsRequest{}
	var limit int
	cmd := &cobra.Command{
		Use:   "traces",
		Short: "List recent recalls: prompts and the memories injected for them",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().StringVar(&req.SessionId, "session", "", "only recalls of this session")
	cmd.Flags().StringVar(&req.MemoryId, "memory", "", "only recalls of this memory")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of recalls; 0 for all")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		if req.MemoryId != "" {
			ids, err := a.memoryIDs(ctx, c, []string{req.MemoryId})
			if err != nil {
				return err
			}
			req.MemoryId = ids[0]
		}
		resp := &pb.SearchServiceListRecallsResponse{}
		err := eachPage(func(token string) (string, error) {
			req.PageToken, req.PageSize = token, pageSize(limit, len(resp.GetRecalls()))
			page, err := c.search.ListRecalls(ctx, req)
			resp.Recalls = append(resp.Recalls, page.GetRecalls()...)
			return nextPage(limit, len(resp.GetRecalls()), page.GetNextPageToken()), err
		})
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			if len(resp.GetRecalls()) == 0 {
				a.out.printf("No recalls since the daemon started.\n")
				return
			}
			var rows [][]string
			for _, r := range resp.GetRecalls() {
				var ids []string
				for _, m := range r.GetMemories() {
					ids = append(ids, m.GetId())
				}
				rows = append(rows, []string{a.out.age(r.GetAt().AsTime()), r.GetSessionId(), strings.Join(ids, " "),
					oneLine(r.GetQuery())})
			}
			a.out.table([]string{"WHEN", "SESSION", "MEMORIES", "PROMPT"}, rows)
		})
	})
	return cmd
}
