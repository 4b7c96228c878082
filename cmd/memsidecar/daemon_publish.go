package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// publishCommand is "daemon publish": FileService.Publish.
func (a *app) publishCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "publish",
		Short: "Write memory.json and the daily logs now",
		Long:  "Write memory.json and the daily logs now. The daemon also does this shortly after every change.",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			resp, err := c.files.Publish(ctx, &pb.FileServicePublishRequest{})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() {
				a.out.printf("Published the files in %s, up to journal position %s.\n", c.info.GetDataDir(),
					resp.GetPosition())
			})
		}),
	}
}
