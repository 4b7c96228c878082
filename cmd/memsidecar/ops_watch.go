package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// watchCommand is "ops watch": OperationService.Watch.
func (a *app) watchCommand() *cobra.Command {
	req := &pb.OperationServiceWatchRequest{}
	var limit int
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Print operations as they become durable, until interrupted",
		Long: `Print operations as they become durable, without gaps, until interrupted. --after ID starts after
that operation; to resume, give the id of the last operation that you saw. If a backup was restored since, that id
is rejected. With --json, print one operation per line.`,
		Example: "  memsidecar ops watch --after 12 --limit 10",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&req.Cursor, "after", "", "operation id or number to start after; 0 for the whole history (default: "+
		"only new ones)")
	f.BoolVar(&req.IncludeBookkeeping, "all", false, "include access counts and session messages")
	f.IntVar(&limit, "limit", 0, "stop after this many operations (default: no limit)")
	cmd.RunE = a.withClient(func(_ context.Context, c *client, cmd *cobra.Command, _ []string) error {
		req.Spaces = a.spaces()
		stream, err := c.ops.Watch(cmd.Context(), req) // without the request timeout
		if err != nil {
			return err
		}
		cursor := req.GetCursor()
		for n := 0; limit <= 0 || n < limit; n++ {
			op, next, err := receiveOperation(stream)
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case unreachable(err) && cmd.Context().Err() == nil:
				return watchEnded(cursor, err)
			case err != nil:
				return err
			case a.out.json:
				if err := a.out.line(op); err != nil {
					return err
				}
			default:
				a.printOperation(op)
			}
			cursor = next
		}
		return nil
	})
	return cmd
}

// receiveOperation receives one operation, which may come in several responses, and the cursor to resume after it.
func receiveOperation(stream pb.OperationService_WatchClient) (op *pb.Operation, cursor string, err error) {
	for {
		resp, err := stream.Recv()
		if err != nil {
			return nil, "", err
		}
		if op == nil {
			op = resp.GetOperation()
		} else {
			op.Changes = append(op.Changes, resp.GetOperation().GetChanges()...)
		}
		if resp.GetCursor() != "" {
			return op, resp.GetCursor(), nil
		}
	}
}

// watchEnded says that the daemon stopped, and how to resume without a gap.
func watchEnded(cursor string, cause error) error {
	e := &cliError{what: "the daemon has stopped", code: exitUnreachable, cause: cause,
		hint: "Resume with: memsidecar ops watch"}
	if cursor != "" {
		e.hint = "Resume without a gap: memsidecar ops watch --after " + cursor
	}
	return e
}
