package main

import (
	"context"

	"github.com/spf13/cobra"
)

// socketCommand is "daemon socket": AdminService.Info.
func (a *app) socketCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "socket",
		Short: "Print the path of the daemon's socket",
		Long: `Print the path of the daemon's socket. Client libraries use this command to find the daemon. It
starts a daemon if none is running, unless the daemon was stopped with "memsidecar daemon stop" or --no-start is
given.`,
		Example: "  memsidecar daemon socket --json --no-start",
		Args:    cobra.NoArgs,
		RunE: a.withClient(func(_ context.Context, c *client, _ *cobra.Command, _ []string) error {
			if a.out.json {
				return a.out.object(object{{"socket", c.info.GetSocketPath()}, {"version", c.info.GetVersion()},
					{"pid", c.info.GetPid()}})
			}
			a.out.printf("%s\n", c.info.GetSocketPath())
			return nil
		}),
	}
}
