package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) sessionWorking() *cobra.Command {
	req := &pb.WorkingMemoryServiceUpdateRequest{}
	var dir, summary string
	var block bool
	cmd := &cobra.Command{
		Use:   "working SESSION",
		Short: "Show or change what an agent has at hand: run directory, tools, files read, its summary",
		Long: `Show what an agent has at hand during a session, or note what is new. What stands in the tool messages of the session is known already.

The summary is what the agent writes down for itself. It outlives a compaction of the agent's context: noted with --compacted, it comes with
the next recall for this session; it also stands behind the context that "memsidecar context" prints again.`,
		Example: `  memsidecar session working 7f3c…
  memsidecar session working 7f3c… --summary - --compacted < summary.md
  memsidecar session working 7f3c… --read internal/fetch.go --tool Bash`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "new run directory, to which relative paths belong")
	f.StringVar(&summary, "summary", "", "replace the summary; - is standard input, an empty text removes it")
	f.BoolVar(&req.Compacted, "compacted", false, "the agent's context was compacted, or is about to be")
	f.StringSliceVar(&req.FilesRead, "read", nil, "files that the agent has read")
	f.StringSliceVar(&req.ToolsUsed, "tool", nil, "tools that it has used")
	f.BoolVar(&block, "block", false, "print only the summary, as a block to put into a context")
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
		req.Space, req.SessionId = a.flags.space, args[0]
		if req.Summary != nil || req.RunDirectory != nil || req.Compacted || len(req.FilesRead)+len(req.ToolsUsed) > 0 {
			resp, err := c.working.Update(ctx, req)
			if err != nil {
				return err
			}
			return a.out.result(resp, func() { a.out.printf("Noted, operation %d.\n", resp.GetResult().GetOperation()) })
		}
		resp, err := c.working.Get(ctx, &pb.WorkingMemoryServiceGetRequest{Space: req.Space, SessionId: req.SessionId})
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
		{"directory", oneLine(w.GetRunDirectory())}, {"tools", strings.Join(tools, ", ")}, {"in use", oneLine(strings.Join(w.GetRecentTools(), ", "))},
		{"files read", strings.Join(files, ", ")}, {"compactions", itoa(int64(w.GetCompactions()))},
		{"summary of", a.when(w.GetSummaryAt())},
	})
	if w.GetSummary() != "" {
		a.out.printf("%s\n", printable(w.GetSummary()))
	}
}

func (a *app) sessionPath() *cobra.Command {
	req := &pb.WorkingMemoryServiceResolvePathRequest{}
	cmd := &cobra.Command{
		Use:   "path SESSION PATH",
		Short: "Say which file a path means in a session; one outside its run directory is refused",
		Args:  cobra.ExactArgs(2),
	}
	cmd.Flags().BoolVar(&req.AllowOutside, "outside", false, "the path may lead out of the run directory")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space, req.SessionId, req.Path = a.flags.space, args[0], args[1]
		resp, err := c.working.ResolvePath(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.out.printf("%s\n", printable(resp.GetPath())) })
	})
	return cmd
}
