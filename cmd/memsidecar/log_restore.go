package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) logRestore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore DATE",
		Short: "Bring a deleted log back, while the history still holds it",
		Long: `Bring a deleted log back by undoing the operation that deleted it. The daemon does not delete it again by itself as long as the
history tells of that. What was kept of the log as memories stays.`,
		Args: cobra.ExactArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			log, err := c.logs.Get(ctx, &pb.LogServiceGetRequest{Space: a.flags.space, Date: args[0]})
			if err != nil {
				return err
			}
			records := log.GetArchived()
			if len(records) == 0 || records[len(records)-1].GetDeletedAt() == nil {
				return &cliError{what: "the log of " + args[0] + " is not deleted", code: exitError, hint: "\"memsidecar log get " + args[0] + "\" shows it."}
			}
			number := records[len(records)-1].GetDeleteOperation()
			if number == 0 {
				return &cliError{
					what: "the log of " + args[0] + " was deleted before this directory was taken over", code: exitError, hint: "Its history is not here.",
				}
			}
			resp, err := c.ops.Undo(ctx, &pb.OperationServiceUndoRequest{Number: number, Reason: "restore the log of " + args[0]})
			if err != nil {
				return err
			}
			return a.undone(resp, number)
		}),
	}
}

// printArchived says what became of the logs of a date.
func (a *app) printArchived(records []*pb.ArchivedLog) {
	for _, r := range records {
		line := "Archived " + a.when(r.GetArchivedAt()) + ": " + plural(int64(r.GetEntryCount()), "entry", "entries") +
			", " + plural(int64(len(r.GetPromotedMemoryIds())), "memory", "memories")
		if r.GetDeletedAt() != nil {
			line += "; deleted " + a.when(r.GetDeletedAt())
		}
		a.out.printf("%s\n", a.out.colour(dim, line))
	}
}
