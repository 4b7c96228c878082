package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) socketCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "socket",
		Short: "Print where the daemon listens",
		Long: `Print the path of the daemon's socket, as flags, environment and configuration say. A daemon is started first when none
answers, unless it was stopped with "memsidecar stop". This is how client libraries find the daemon.`,
		Args: cobra.NoArgs,
		RunE: a.withClient(func(_ context.Context, c *client, _ *cobra.Command, _ []string) error {
			if a.out.json {
				return a.out.object(object{{"socket", c.info.GetSocket()}, {"version", c.info.GetVersion()}, {"pid", c.info.GetPid()}})
			}
			a.out.printf("%s\n", c.info.GetSocket())
			return nil
		}),
	}
}
