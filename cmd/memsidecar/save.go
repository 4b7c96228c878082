package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) saveCommand() *cobra.Command {
	req := &pb.LearningServiceSaveMemoryRequest{}
	var memories []string
	var category string
	cmd := &cobra.Command{
		Use:   "save [TEXT|-]",
		Short: "Bring memories up to date and write down what happened, in one operation",
		Long: `Bring memories up to date and write down what happened, in one operation. TEXT is what is true now, one statement a line; list marks and
headings are allowed, and a heading such as "# preferences" names the category of the lines below it. What is known stays, what has changed
is changed, what is new is added; what the text does not say stays as it is.`,
		Example: `  memsidecar save --history "Moved the login to OAuth" --memory "The login uses OAuth"
  memsidecar save --history "Planned the release" - < memory.md`,
		Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&req.HistoryEntry, "history", "", "what happened, for the log of today")
	f.StringArrayVar(&memories, "memory", nil, "a statement; may be repeated")
	f.StringVar(&category, "category", "", "category of those (default \"general\")")
	f.StringVar(&req.Session, "session", "", "session that it belongs to")
	f.BoolVar(&req.DryRun, "dry-run", false, "only say what would be done")
	f.StringVar(&req.IdempotencyKey, "key", "", "idempotency key")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if len(args) == 0 && len(memories) == 0 && req.HistoryEntry == "" {
			return usagef("give a text, --memory or --history")
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
		resp, err := c.learning.SaveMemory(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printSaved(resp, req.DryRun) })
	})
	return cmd
}

func (a *app) printSaved(r *pb.LearningServiceSaveMemoryResponse, dry bool) {
	switch h := r.GetHistory(); {
	case h == nil:
	case h.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED:
		a.out.printf("%s\n", a.out.colour(red, "The history entry was refused: "+reasonText(h.GetReason())+"."))
	case !dry:
		a.out.printf("Wrote it into the log of today%s.\n", operation(r.GetResult()))
	}
	if len(r.GetMemories()) > 0 {
		var rows [][]string
		for _, m := range r.GetMemories() {
			o := m.GetOutcome()
			decision := strings.ToUpper(word(m.GetDecision()))
			if o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED {
				decision = "REFUSED"
			}
			rows = append(rows, []string{decision, o.GetId(), oneLine(reasonText(o.GetReason())), oneLine(m.GetContent())})
		}
		a.out.table([]string{"DECISION", "MEMORY", "WHY", "CONTENT"}, rows)
	}
	if dry {
		a.printDry(r.GetChanges())
	}
}

// printDry shows what a dry run would change.
func (a *app) printDry(changes []*pb.Change) {
	if len(changes) == 0 {
		a.out.printf("Nothing would change.\n")
		return
	}
	a.out.printf("It would change:\n")
	for _, ch := range changes {
		a.printChange(ch)
	}
}
