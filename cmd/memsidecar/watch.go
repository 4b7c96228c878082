package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) watchCommand() *cobra.Command {
	req := &pb.OperationServiceWatchRequest{}
	var from int64
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show changes as they become durable, until interrupted",
		Long: `Show changes as they become durable, without gaps, until interrupted. --from N begins with operation N: go on with the number
after the last one that was seen. With --json, one operation a line.`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.Int64Var(&from, "from", 0, "first operation (default: only those to come); 1 is everything that is kept")
	f.BoolVar(&req.IncludeAll, "all", false, "also the counting of accesses and the messages of sessions")
	cmd.RunE = a.withClient(func(_ context.Context, c *client, cmd *cobra.Command, _ []string) error {
		if f.Changed("from") {
			if from < 1 {
				return usagef("--from is %d; the first operation is 1", from)
			}
			req.After = new(from - 1)
		}
		req.Spaces = a.spaces()
		stream, err := c.ops.Watch(cmd.Context(), req) // without the timeout of a call
		if err != nil {
			return err
		}
		for {
			resp, err := stream.Recv()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case a.out.json:
				if err := a.out.line(resp.GetOperation()); err != nil {
					return err
				}
			default:
				a.printOperation(resp.GetOperation())
			}
		}
	})
	return cmd
}
