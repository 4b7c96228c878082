package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// forgetCommand is "forget": MemoryService.Delete.
func (a *app) forgetCommand() *cobra.Command {
	req := &pb.MemoryServiceDeleteRequest{}
	cmd := &cobra.Command{
		Use:   "forget ID…",
		Short: "Retire memories; they can be restored",
		Long: `Retire memories: searches no longer find them, and reflection does not learn the same value again.
Use "memsidecar restore" or "memsidecar undo" to make them active again, and "memsidecar memory purge" to erase them
for good.`,
		Example: "  memsidecar forget 0199a2c4-6e1b-7c33-9f0d-5b8e2d7a41f6",
		Args:    cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	f.BoolVar(&req.KeepLearnable, "may-relearn", false, "allow reflection to learn the same value again")
	f.Int64Var(&req.ExpectedRevision, "expect", 0, "fail unless the memory has this revision (single id only)")
	addWriteFlags(f, &req.IdempotencyKey, &req.Reason)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		req.Space = a.flags.space
		if req.Ids, err = a.memoryIDs(ctx, c, args); err != nil {
			return err
		}
		resp, err := c.memory.Delete(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Retired", "Already retired:")
	})
	return cmd
}

// restoreCommand is "restore": MemoryService.Restore.
func (a *app) restoreCommand() *cobra.Command {
	req := &pb.MemoryServiceRestoreRequest{}
	cmd := &cobra.Command{
		Use:   "restore ID…",
		Short: "Make retired or superseded memories active again",
		Long: `Make retired or superseded memories active again. To restore a backup, use "memsidecar backup
restore"; to restore a deleted daily log, use "memsidecar log restore".`,
		Example: "  memsidecar restore 0199a2c4-6e1b-7c33-9f0d-5b8e2d7a41f6",
		Args:    cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	addWriteFlags(f, &req.IdempotencyKey, &req.Reason)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		req.Space = a.flags.space
		if req.Ids, err = a.memoryIDs(ctx, c, args); err != nil {
			return err
		}
		resp, err := c.memory.Restore(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Restored", "Already active:")
	})
	return cmd
}
