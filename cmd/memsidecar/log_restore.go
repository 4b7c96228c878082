package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// logRestore is "log restore": OperationService.Undo of the operation that deleted the log.
func (a *app) logRestore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore DATE",
		Short: "Restore a deleted log while the history still contains it",
		Long: `Restore a deleted log by undoing the operation that deleted it. The daemon does not delete it again
while the history contains the undo. Memories that were made from the log stay.`,
		Example: "  memsidecar log restore 2026-02-21",
		Args:    cobra.ExactArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			log, err := c.logs.Get(ctx, &pb.LogServiceGetRequest{Space: a.flags.space, Date: args[0], PageSize: 1})
			if err != nil {
				return err
			}
			records := log.GetArchived()
			if len(records) == 0 || records[len(records)-1].GetDeletedAt() == nil {
				return &cliError{what: "the log of " + args[0] + " is not deleted", code: exitError,
					hint: "\"memsidecar log get " + args[0] + "\" shows it."}
			}
			id := records[len(records)-1].GetDeleteOperationId()
			if id == "" {
				return &cliError{
					what: "the log of " + args[0] + " was deleted before memsidecar adopted this directory",
					code: exitError, hint: "Its history is not available.",
				}
			}
			resp, err := c.ops.Undo(ctx, &pb.OperationServiceUndoRequest{Id: id, Reason: "restore the log of " +
				args[0]})
			if err != nil {
				return err
			}
			return a.undone(resp, id)
		}),
	}
}

// printArchived prints when a log was archived and deleted, and how many memories it became.
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
