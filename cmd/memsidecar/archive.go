package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) archiveCommand() *cobra.Command {
	req := &pb.AdminServiceArchiveRequest{}
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Archive old daily logs now, and delete those archived long ago",
		Long: `Archive old daily logs now: each is summarised and what is worth it becomes memories. A log that was archived long ago is
deleted. Memories whose expiry has passed are retired. The daemon does this by itself; each log is an operation that can be taken back.`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.BoolVar(&req.DryRun, "dry-run", false, "only say what would be done")
	f.Int32Var(&req.ArchiveDays, "archive-days", 0, "archive logs at least this old (default as configured, 30)")
	f.Int32Var(&req.DeleteDays, "delete-days", 0, "delete archived logs at least this old (default as configured, 60)")
	f.Int32Var(&req.MaxDays, "max-days", 0, "change at most this many logs, oldest first")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		req.Space = a.flags.space
		resp, err := c.admin.Archive(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printArchive(resp, req.DryRun) })
	})
	return cmd
}

func (a *app) printArchive(r *pb.AdminServiceArchiveResponse, dry bool) {
	// A log of which nothing is due needs no line.
	days := slices.DeleteFunc(slices.Clone(r.GetDays()), func(d *pb.ArchivedDay) bool {
		return d.GetAction() == pb.ArchiveAction_ARCHIVE_ACTION_KEEP
	})
	switch {
	case len(days)+len(r.GetExpired()) == 0:
		a.out.printf("Nothing is due; the logs are young or archived. \"memsidecar log list\" shows them all.\n")
		return
	case dry:
		a.out.printf("This would be done:\n")
	}
	var rows [][]string
	byRules, note := 0, ""
	for _, d := range days {
		if d.GetNote() != "" {
			byRules, note = byRules+1, d.GetNote()
		}
		text := oneLine(d.GetSummary())
		if d.GetReason() != "" {
			text = oneLine(d.GetReason()) + prefixed("; ", text)
		}
		op := ""
		if d.GetOperation() > 0 {
			op = itoa(d.GetOperation())
		}
		rows = append(rows, []string{d.GetSpace(), d.GetDate(), word(d.GetAction()), itoa(int64(d.GetEntryCount())), itoa(int64(len(d.GetPromoted()))), op, text})
	}
	if len(rows) > 0 {
		a.out.table([]string{"SPACE", "DATE", "ACTION", "ENTRIES", "MEMORIES", "OPERATION", "SUMMARY"}, rows)
	}
	if byRules > 0 {
		a.out.printf("Summed up by rules: %d, because of the last of them: %s\n", byRules, oneLine(note))
	}
	if r.GetWaiting() != "" {
		a.out.printf("Postponed, %s\nNothing is lost: the daemon tries again by itself. \"memsidecar llm test\" says what is wrong with the model.\n", oneLine(r.GetWaiting()))
	}
	for _, m := range r.GetExpired() {
		a.out.printf("%s: the expiry of memory %s has passed; it is retired.\n", m.GetSpace(), m.GetMemoryId())
	}
}
