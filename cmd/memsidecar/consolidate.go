package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) consolidateCommand() *cobra.Command {
	req := &pb.MemoryServiceConsolidateRequest{}
	var salience float64
	var writeTo string
	var confidence float64
	var pending, noWait bool
	var limit int32
	cmd := &cobra.Command{
		Use:   "consolidate TEXT|- | --pending",
		Short: "Save a text the way an agent does: compared with what is known first",
		Long: `Save a text the way an agent does. It is compared with what is known, and then it is added, updates or removes a memory,
or changes nothing. --dry-run only says which.

With --pending, the entries of the daily logs that were written to become memories (--write-to daily, events with a category) are decided about
that way; each only once, however often it is repeated.`,
		Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&req.Category, "category", "", "category (default \"general\")")
	f.Float64Var(&salience, "salience", 0.5, "importance, 0 to 1")
	f.StringVar(&req.Title, "title", "", "short name")
	f.StringArrayVar(&req.Tags, "tag", nil, "a tag; may be repeated")
	f.StringVar(&writeTo, "write-to", "", "memory or daily, the log of today (default memory)")
	f.BoolVar(&req.DryRun, "dry-run", false, "only say what would be done")
	f.StringVar(&req.IdempotencyKey, "key", "", "idempotency key")
	f.StringVar(&req.Session, "session", "", "session that it belongs to")
	f.Float64Var(&confidence, "confidence", 1, "how sure it is, 0 to 1")
	f.BoolVar(&noWait, "no-wait", false, "keep it durably and decide in the background")
	f.BoolVar(&pending, "pending", false, "decide about the entries of the daily logs instead")
	f.Int32Var(&limit, "limit", 0, "with --pending: most entries, 1 to 1000 (default 1000)")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if (len(args) == 1) == pending {
			return usagef("give either a text or --pending")
		}
		if pending {
			return a.consolidatePending(ctx, c, &pb.LearningServiceConsolidatePendingRequest{Space: a.flags.space, Limit: limit, DryRun: req.DryRun})
		}
		if noWait {
			req.Wait = new(false)
		}
		req.Confidence = given(f, "confidence", &confidence)
		if req.Content, err = a.text(args[0]); err != nil {
			return err
		}
		if req.WriteTo, err = parseWord[pb.WriteTo]("write-to", writeTo); err != nil {
			return err
		}
		req.Space, req.Salience = a.flags.space, given(f, "salience", &salience)
		resp, err := c.memory.Consolidate(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printDecision(resp, req.DryRun) })
	})
	return cmd
}

func (a *app) consolidatePending(ctx context.Context, c *client, req *pb.LearningServiceConsolidatePendingRequest) error {
	resp, err := c.learning.ConsolidatePending(ctx, req)
	if err != nil {
		return err
	}
	return a.out.result(resp, func() {
		if len(resp.GetEntries()) == 0 {
			a.out.printf("No entries of the daily logs wait%s.\n", a.inSpace())
			return
		}
		var rows [][]string
		for _, e := range resp.GetEntries() {
			rows = append(rows, []string{e.GetDate(), strings.ToUpper(word(e.GetDecision())), e.GetId(), reasonText(e.GetReason()), oneLine(e.GetContent())})
		}
		a.out.table([]string{"LOG", "DECISION", "MEMORY", "WHY", "ENTRY"}, rows)
		switch {
		case req.GetDryRun():
			a.out.printf("Nothing was changed.\n")
		case resp.GetLeft() > 0:
			a.out.printf("%s wait still; run it again.\n", plural(int64(resp.GetLeft()), "entry", "entries"))
		}
	})
}

func (a *app) printDecision(r *pb.MemoryServiceConsolidateResponse, dry bool) {
	if r.GetPending() {
		a.out.printf("Kept as entry %s of the log of today%s; it is decided about in the background.\n", r.GetId(), operation(r.GetResult()))
		return
	}
	text := a.out.colour(bold, strings.ToUpper(word(r.GetDecision())))
	if r.GetId() != "" {
		text += " " + r.GetId()
	}
	text += operation(r.GetResult())
	if r.GetReason() != "" {
		text += ": " + oneLine(reasonText(r.GetReason()))
	}
	if dry {
		text = "Would be: " + text
	}
	a.out.printf("%s\n", text)
	if dry {
		a.printDry(r.GetChanges())
	}
}
