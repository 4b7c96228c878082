package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) forgetCommand() *cobra.Command {
	req := &pb.MemoryServiceDeleteRequest{}
	var relearn bool
	cmd := &cobra.Command{
		Use:   "forget ID…",
		Short: "Retire memories; they can be restored",
		Long: `Retire memories: they are no longer found, and reflection does not learn the same value again. "memsidecar restore" or
"memsidecar undo" brings them back.`,
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	f.BoolVar(&relearn, "may-relearn", false, "reflection may learn the same value again")
	f.Int64Var(&req.ExpectedRevision, "expect", 0, "with a single id: refuse when the memory has another revision")
	f.StringVar(&req.IdempotencyKey, "key", "", "idempotency key")
	f.StringVar(&req.Reason, "reason", "", "why, for the list of operations")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space, req.Ids = a.flags.space, args
		if relearn {
			req.Forget = new(false)
		}
		resp, err := c.memory.Delete(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Forgot", "Forgotten already:")
	})
	return cmd
}

func (a *app) restoreCommand() *cobra.Command {
	req := &pb.MemoryServiceRestoreRequest{}
	cmd := &cobra.Command{
		Use:   "restore ID… | restore FILE",
		Short: "Make retired or superseded memories active again, or a data directory of a backup",
		Long: `Make retired or superseded memories active again.

With one argument that is a file: make a data directory of a backup, as "memsidecar backup restore" does.`,
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&req.IdempotencyKey, "key", "", "idempotency key")
	f.StringVar(&req.Reason, "reason", "", "why, for the list of operations")
	memories := a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space, req.Ids = a.flags.space, args
		resp, err := c.memory.Restore(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Restored", "Active already:")
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && isArchive(args[0]) {
			return a.restoreBackup(cmd.Context(), args[0])
		}
		return memories(cmd, args)
	}
	return cmd
}
