package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// compressCommand is "memory compress": AdminService.Compress.
func (a *app) compressCommand() *cobra.Command {
	req := &pb.AdminServiceCompressRequest{}
	cmd := &cobra.Command{
		Use:   "compress",
		Short: "Merge old, rarely used, similar memories",
		Long: `Merge similar memories that are unused for more than 90 days and were accessed fewer than 5 times. Three or
more memories of a category become one to three that contain every sentence. The originals are superseded and can be
restored. The daemon does this daily. Each group is one operation, which you can undo.`,
		Example: "  memsidecar memory compress --dry-run",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.BoolVar(&req.DryRun, "dry-run", false, "only show the groups")
	f.Int32Var(&req.Days, "days", 0, "minimum age in days (default 90)")
	f.Int32Var(&req.Limit, "limit", 0, "maximum number of groups")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		req.Space = a.flags.space
		resp, err := c.admin.Compress(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printCompress(resp, req.DryRun) })
	})
	return cmd
}

// printCompress prints the merged groups with the ids that they supersede.
func (a *app) printCompress(r *pb.AdminServiceCompressResponse, dry bool) {
	switch {
	case r.GetPostponedReason() != "":
		a.out.printf("Postponed: %s.\n", oneLine(r.GetPostponedReason()))
	case len(r.GetGroups()) == 0:
		a.out.printf("Nothing to merge; %s old and rarely used.\n",
			plural(int64(r.GetCandidates()), "memory", "memories"))
	case dry:
		a.out.printf("Dry run; nothing was changed:\n")
	}
	for _, g := range r.GetGroups() {
		head := g.GetSpace() + ", " + g.GetCategory() + ": " +
			plural(int64(len(g.GetOriginalIds())), "memory", "memories")
		if g.GetReason() != "" {
			a.out.printf("%s not merged: %s\n", head, oneLine(g.GetReason()))
			continue
		}
		if g.GetOperationId() != "" {
			head += " (operation " + g.GetOperationId() + ")"
		}
		a.out.printf("%s\n", a.out.colour(bold, head))
		for _, m := range g.GetResults() {
			a.out.printf("  + %s\n", oneLine(m.GetMemoryId()+" "+m.GetContent()))
			for _, id := range m.GetSupersedes() {
				a.out.printf("    - %s\n", id)
			}
		}
	}
}
