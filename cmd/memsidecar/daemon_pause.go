package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// pauseCommand is "daemon pause": AdminService.Pause.
func (a *app) pauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pause",
		Short: "Pause recording: reject session messages and reflections",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			resp, err := c.admin.Pause(ctx, &pb.AdminServicePauseRequest{})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() {
				a.out.printf("Recording is paused until `memsidecar daemon resume`.\n")
			})
		}),
	}
}

// resumeCommand is "daemon resume": AdminService.Resume.
func (a *app) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "Resume recording",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			resp, err := c.admin.Resume(ctx, &pb.AdminServiceResumeRequest{})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() { a.out.printf("Recording resumed.\n") })
		}),
	}
}
