package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// archiveCommand is "log archive": AdminService.Archive.
func (a *app) archiveCommand() *cobra.Command {
	req := &pb.AdminServiceArchiveRequest{}
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Archive old daily logs now, and delete old archives",
		Long: `Archive old daily logs now: each log is summarised, and its important entries become memories. Logs
that were archived long ago are deleted, and expired memories are retired. The daemon does this daily. Each log is
one operation, which you can undo.`,
		Example: "  memsidecar log archive --dry-run",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.BoolVar(&req.DryRun, "dry-run", false, "only show the logs")
	f.Int32Var(&req.ArchiveDays, "archive-days", 0,
		"minimum age of logs to archive, in days (default: as configured, 30)")
	f.Int32Var(&req.DeleteDays, "delete-days", 0,
		"minimum age of archived logs to delete, in days (default: as configured, 60)")
	f.Int32Var(&req.Limit, "limit", 0, "maximum number of logs, oldest first")
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

// printArchive prints the logs that were archived, deleted or postponed, and the expired memories.
func (a *app) printArchive(r *pb.AdminServiceArchiveResponse, dry bool) {
	// Logs that are not due are not listed.
	days := slices.DeleteFunc(slices.Clone(r.GetDays()), func(d *pb.ArchivedDay) bool {
		return d.GetAction() == pb.ArchiveAction_ARCHIVE_ACTION_KEEP
	})
	switch {
	case len(days)+len(r.GetExpired()) == 0:
		a.out.printf("No logs are due. \"memsidecar log list\" shows all logs.\n")
		return
	case dry:
		a.out.printf("Dry run; nothing was changed:\n")
	}
	var rows [][]string
	byRules, note := 0, ""
	for _, d := range days {
		if d.GetFallbackReason() != "" {
			byRules, note = byRules+1, d.GetFallbackReason()
		}
		text := oneLine(d.GetSummary())
		if d.GetReason() != "" {
			text = oneLine(d.GetReason()) + prefixed("; ", text)
		}
		rows = append(rows, []string{d.GetSpace(), d.GetDate(), word(d.GetAction()), itoa(int64(d.GetEntryCount())),
			itoa(int64(len(d.GetPromoted()))), d.GetOperationId(), text})
	}
	if len(rows) > 0 {
		a.out.table([]string{"SPACE", "DATE", "ACTION", "ENTRIES", "MEMORIES", "OPERATION", "SUMMARY"}, rows)
	}
	if byRules > 0 {
		a.out.printf("Summarised by rules instead of the model: %d; last reason: %s\n", byRules, oneLine(note))
	}
	if r.GetWaitingReason() != "" {
		a.out.printf("Postponed: %s\nNo data is lost; the daemon tries again. \"memsidecar config test-llm\" tests "+
			"the model.\n", oneLine(r.GetWaitingReason()))
	}
	for _, m := range r.GetExpired() {
		a.out.printf("%s: memory %s has expired and was retired.\n", m.GetSpace(), m.GetMemoryId())
	}
}
