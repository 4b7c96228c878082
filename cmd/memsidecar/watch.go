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
	var limit int
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
	f.StringVar(&req.Epoch, "epoch", "", "with --from: fail when a backup was restored since, and the numbers mean something else")
	f.IntVar(&limit, "limit", 0, "end after so many operations (default: go on until interrupted)")
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
		seen := from - 1
		for n := 0; limit <= 0 || n < limit; n++ {
			resp, err := stream.Recv()
			seen = max(seen, resp.GetOperation().GetNumber())
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case unreachable(err) && cmd.Context().Err() == nil:
				return watchEnded(seen, c.info.GetEpoch(), err)
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
		return nil
	})
	return cmd
}

// watchEnded says that the daemon is gone, and how to go on without missing anything.
func watchEnded(seen int64, epoch string, cause error) error {
	e := &cliError{what: "the daemon has ended", code: exitUnreachable, cause: cause, hint: "Go on with: memsidecar watch"}
	if seen > 0 {
		e.hint = "Go on where this ended with: memsidecar watch --from " + itoa(seen+1) + " --epoch " + epoch
	}
	return e
}
