package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) checkpointCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoint",
		Short: "Write memory.json and the daily logs now",
		Long:  "Write memory.json and the daily logs now. The daemon does this by itself a moment after a change.",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			resp, err := c.admin.Checkpoint(ctx, &pb.AdminServiceCheckpointRequest{})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() {
				a.out.printf("The files in %s hold everything up to position %d of the journal.\n", c.info.GetDataDir(), resp.GetLsn())
			})
		}),
	}
}
