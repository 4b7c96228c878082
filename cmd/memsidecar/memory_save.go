package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// saveCommand is "memory save": MemoryService.Save.
func (a *app) saveCommand() *cobra.Command {
	req := &pb.MemoryServiceSaveRequest{}
	var memories []string
	var category string
	cmd := &cobra.Command{
		Use:   "save [TEXT|-]",
		Short: "Update memories and add a log entry in one operation",
		Long: `Update memories and add an entry to today's log, in one operation. TEXT contains current statements,
one a line. List markers and headings are allowed; a heading such as "# preferences" sets the category of the lines
below it. New statements are added and changed ones updated. Memories that the text does not mention stay unchanged.`,
		Example: `  memsidecar memory save --history "Moved the login to OAuth" --memory "The login uses OAuth"
  memsidecar memory save --history "Planned the release" - < memory.md`,
		Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&req.HistoryEntry, "history", "", "entry for today's log")
	f.StringArrayVar(&memories, "memory", nil, "current statement (repeatable)")
	f.StringVar(&category, "category", "", "category of the --memory statements (default \"general\")")
	f.StringVar(&req.SessionId, "session", "", "session to record with the operation")
	f.BoolVar(&req.DryRun, "dry-run", false, "only show the changes")
	addWriteFlags(f, &req.IdempotencyKey, &req.Reason)
	addKeepFlag(f, &req.AllowSensitive)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if len(args) == 0 && len(memories) == 0 && req.HistoryEntry == "" {
			return usagef("give TEXT, --memory or --history")
		}
		if len(args) == 1 {
			if req.MemoryText, err = a.text(args[0]); err != nil {
				return err
			}
		}
		for _, m := range memories {
			req.Memories = append(req.Memories, &pb.MemoryUpdate{Content: m, Category: category})
		}
		req.Space = a.flags.space
		resp, err := c.memory.Save(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printSaved(resp, req.DryRun) })
	})
	return cmd
}

// printSaved prints the decision about each statement.
func (a *app) printSaved(r *pb.MemoryServiceSaveResponse, dry bool) {
	switch h := r.GetHistory(); {
	case h == nil:
	case h.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED:
		a.out.printf("%s\n", a.out.colour(red, "Log entry rejected: "+reasonText(h.GetReason())+"."))
	case !dry:
		a.out.printf("Added an entry to today's log%s.\n", operation(r.GetResult()))
	}
	taken := r.GetHistory().GetRedactions()
	for _, m := range r.GetMemories() {
		taken = append(taken, m.GetOutcome().GetRedactions()...)
	}
	if line := redactions(taken); line != "" {
		a.out.printf("%s\n", line)
	}
	if len(r.GetMemories()) > 0 {
		var rows [][]string
		for _, m := range r.GetMemories() {
			o := m.GetOutcome()
			decision := strings.ToUpper(word(m.GetDecision()))
			if o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED {
				decision = "REJECTED"
			}
			rows = append(rows, []string{decision, o.GetId(), oneLine(reasonText(o.GetReason())),
				oneLine(m.GetContent())})
		}
		a.out.table([]string{"DECISION", "MEMORY", "WHY", "CONTENT"}, rows)
	}
	if dry {
		a.printDry(r.GetChanges())
	}
}

// printDry prints the changes of a dry run.
func (a *app) printDry(changes []*pb.Change) {
	if len(changes) == 0 {
		a.out.printf("Nothing would change.\n")
		return
	}
	a.out.printf("Changes:\n")
	for _, ch := range changes {
		a.printChange(ch)
	}
}
