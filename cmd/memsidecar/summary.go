package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) summaryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "summary",
		Short: "The rolling summary: get, set, rebuild",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.groupRun,
	}
	get := &cobra.Command{
		Use:   "get",
		Short: "Show the rolling summary",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			resp, err := c.memory.GetRollingSummary(ctx, &pb.MemoryServiceGetRollingSummaryRequest{Space: a.flags.space})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() {
				if resp.GetSummary() == "" {
					a.out.printf("No rolling summary yet%s. Write one: memsidecar summary set \"Mei maintains tidewatch …\"\n", a.inSpace())
					return
				}
				a.out.printf("%s\n", printable(resp.GetSummary()))
			})
		}),
	}
	req := &pb.MemoryServiceSetRollingSummaryRequest{}
	set := &cobra.Command{
		Use:   "set TEXT|-",
		Short: "Replace the rolling summary; an empty text clears it",
		Args:  cobra.ExactArgs(1),
	}
	set.Flags().StringVar(&req.IdempotencyKey, "key", "", "idempotency key")
	set.Flags().StringVar(&req.Reason, "reason", "", "why, for the list of operations")
	set.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if req.Summary, err = a.text(args[0]); err != nil {
			return err
		}
		req.Space = a.flags.space
		resp, err := c.memory.SetRollingSummary(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Set", "The same text is there already")
	})
	cmd.AddCommand(get, set, a.summaryRebuild())
	return cmd
}

func (a *app) summaryRebuild() *cobra.Command {
	req := &pb.LearningServiceRebuildSummaryRequest{}
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Put the rolling summary together from memories and logs",
		Long: `Put the rolling summary together from memories and daily logs; its own text is never read. From then on it is rebuilt every day, as long as its
first line stays. A summary that somebody else wrote is left alone without --replace.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&req.Replace, "replace", false, "replace what somebody else wrote")
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "only show the text")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		req.Space = a.flags.space
		resp, err := c.learning.RebuildSummary(ctx, req)
		if err != nil {
			return err
		}
		if req.DryRun {
			return a.out.result(resp, func() { a.out.printf("%s\n", printable(resp.GetSummary())) })
		}
		return a.written(resp, resp.GetResult(), "Rebuilt", "The same text is there already")
	})
	return cmd
}
