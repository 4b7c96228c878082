package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) compressCommand() *cobra.Command {
	req := &pb.AdminServiceCompressRequest{}
	cmd := &cobra.Command{
		Use:   "compress",
		Short: "Merge old memories that are hardly used and say similar things",
		Long: `Merge memories that are older than 90 days, were found less than 5 times and are alike: three or more of a category become
one to three, which hold every sentence. The originals are superseded and can be restored. The daemon does this by itself every
day; each group is an operation that can be taken back.`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.BoolVar(&req.DryRun, "dry-run", false, "only say what would be done")
	f.Int32Var(&req.Days, "days", 0, "merge only memories at least this old (default 90)")
	f.Int32Var(&req.MaxGroups, "max-groups", 0, "merge at most this many groups")
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

func (a *app) printCompress(r *pb.AdminServiceCompressResponse, dry bool) {
	switch {
	case r.GetPostponed() != "":
		a.out.printf("Nothing was looked at: %s.\n", oneLine(r.GetPostponed()))
	case len(r.GetGroups()) == 0:
		a.out.printf("Nothing to merge among %s old and hardly used.\n", plural(int64(r.GetCandidates()), "memory", "memories"))
	case dry:
		a.out.printf("This would be done:\n")
	}
	for _, g := range r.GetGroups() {
		head := g.GetSpace() + ", " + g.GetCategory() + ": " + plural(int64(len(g.GetOriginals())), "memory", "memories")
		if g.GetReason() != "" {
			a.out.printf("%s left alone: %s\n", head, oneLine(g.GetReason()))
			continue
		}
		if g.GetOperation() > 0 {
			head += " (operation " + itoa(g.GetOperation()) + ")"
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
