package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// summaryCommand groups the commands on the rolling summary.
func (a *app) summaryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "summary",
		Short:   "Show, replace or rebuild the rolling summary",
		Args:    cobra.ArbitraryArgs,
		Example: "  memsidecar memory summary get\n  memsidecar memory summary rebuild --dry-run",
		RunE:    a.groupRun,
	}
	get := &cobra.Command{
		Use:   "get",
		Short: "Show the rolling summary",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			resp, err := c.memory.GetSummary(ctx,
				&pb.MemoryServiceGetSummaryRequest{Space: a.flags.space})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() {
				if resp.GetSummary() == "" {
					a.out.printf("No rolling summary yet%s. Write one: memsidecar memory summary set \"Mei maintains "+
						"tidewatch …\"\n", a.inSpace())
					return
				}
				a.out.printf("%s\n", printable(resp.GetSummary()))
			})
		}),
	}
	req := &pb.MemoryServiceSetSummaryRequest{}
	set := &cobra.Command{
		Use:   "set TEXT|-",
		Short: "Replace the rolling summary; an empty text clears it",
		Args:  cobra.ExactArgs(1),
	}
	addWriteFlags(set.Flags(), &req.IdempotencyKey, &req.Reason)
	set.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if req.Summary, err = a.text(args[0]); err != nil {
			return err
		}
		req.Space = a.flags.space
		resp, err := c.memory.SetSummary(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Set", "The text is unchanged")
	})
	cmd.AddCommand(get, set, a.summaryRebuild())
	return cmd
}

// summaryRebuild is "memory summary rebuild": MemoryService.RebuildSummary.
func (a *app) summaryRebuild() *cobra.Command {
	req := &pb.MemoryServiceRebuildSummaryRequest{}
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild the rolling summary from memories and logs",
		Long: `Rebuild the rolling summary from memories and daily logs; its present text is not used. The daemon
then rebuilds it daily, as long as its first line is unchanged. A summary that a person or another program wrote is
kept unless you give --replace.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&req.Replace, "replace", false, "replace a summary that was not generated")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "only show the new text")
	addWriteFlags(cmd.Flags(), &req.IdempotencyKey, &req.Reason)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		req.Space = a.flags.space
		resp, err := c.memory.RebuildSummary(ctx, req)
		if err != nil {
			return err
		}
		if req.DryRun {
			return a.out.result(resp, func() { a.out.printf("%s\n", printable(resp.GetSummary())) })
		}
		return a.written(resp, resp.GetResult(), "Rebuilt", "The text is unchanged")
	})
	return cmd
}
