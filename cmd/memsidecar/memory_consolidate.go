package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// consolidateCommand is "memory consolidate": MemoryService.Consolidate, for a text or for pending log entries.
func (a *app) consolidateCommand() *cobra.Command {
	text := &pb.ConsolidateText{}
	req := &pb.MemoryServiceConsolidateRequest{Input: &pb.MemoryServiceConsolidateRequest_Text{Text: text}}
	var salience float64
	var writeTo string
	var confidence float64
	var pending bool
	var limit int32
	cmd := &cobra.Command{
		Use:   "consolidate TEXT|- | --pending",
		Short: "Compare a text with existing memories, then add, update or retire",
		Long: `Compare a text with existing memories, as agents do when they save one. The decision is ADD, UPDATE,
DELETE or NOOP; --dry-run only shows it.

With --pending, process the daily log entries that are meant to become memories (--write-to daily, and events with a
category). Each entry is processed once.`,
		Example: `  memsidecar memory consolidate "The staging database listens on port 5433" --category facts --dry-run
  memsidecar memory consolidate --pending`,
		Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&text.Category, "category", "", "category (default \"general\")")
	f.Float64Var(&salience, "salience", 0.5, "importance, 0 to 1")
	f.StringVar(&text.Title, "title", "", "title")
	f.StringArrayVar(&text.Tags, "tag", nil, "tag (repeatable)")
	f.StringVar(&writeTo, "write-to", "", "memory, or daily for today's log (default memory)")
	f.BoolVar(&req.DryRun, "dry-run", false, "only show the decision")
	addKeepFlag(f, &text.AllowSensitive)
	addWriteFlags(f, &req.IdempotencyKey, &req.Reason)
	f.StringVar(&req.SessionId, "session", "", "session to record with the operation")
	f.Float64Var(&confidence, "confidence", 1, "confidence of the source, 0 to 1")
	f.BoolVar(&text.Async, "no-wait", false, "store the text durably and decide in the background")
	f.BoolVar(&pending, "pending", false, "process the pending entries of the daily logs instead")
	f.Int32Var(&limit, "limit", 0, "with --pending: maximum number of entries, 1 to 1000 (default 1000)")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if (len(args) == 1) == pending {
			return usagef("give either TEXT or --pending")
		}
		req.Space = a.flags.space
		if pending {
			req.Input = &pb.MemoryServiceConsolidateRequest_LogEntries{
				LogEntries: &pb.ConsolidateLogEntries{Limit: limit}}
			return a.consolidatePending(ctx, c, req)
		}
		if text.Content, err = a.text(args[0]); err != nil {
			return err
		}
		if text.WriteTo, err = parseWord[pb.WriteTo]("write-to", writeTo); err != nil {
			return err
		}
		text.Salience, text.Confidence = given(f, "salience", &salience), given(f, "confidence", &confidence)
		resp, err := c.memory.Consolidate(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printDecision(resp, req.DryRun) })
	})
	return cmd
}

// consolidatePending decides about the pending log entries.
func (a *app) consolidatePending(ctx context.Context, c *client, req *pb.MemoryServiceConsolidateRequest) error {
	resp, err := c.memory.Consolidate(ctx, req)
	if err != nil {
		return err
	}
	return a.out.result(resp, func() {
		if len(resp.GetItems()) == 0 {
			a.out.printf("No pending log entries%s.\n", a.inSpace())
			return
		}
		var rows [][]string
		for _, e := range resp.GetItems() {
			rows = append(rows, []string{e.GetLogDate(), strings.ToUpper(word(e.GetDecision())), e.GetId(),
				reasonText(e.GetReason()), oneLine(e.GetContent())})
		}
		a.out.table([]string{"LOG", "DECISION", "MEMORY", "WHY", "ENTRY"}, rows)
		switch {
		case req.GetDryRun():
			a.out.printf("Nothing was changed.\n")
		case resp.GetRemainingEntries() > 0:
			a.out.printf("%s left; run the command again.\n",
				plural(int64(resp.GetRemainingEntries()), "entry", "entries"))
		}
	})
}

// printDecision prints the decision about one text.
func (a *app) printDecision(r *pb.MemoryServiceConsolidateResponse, dry bool) {
	var item *pb.ConsolidatedItem
	if len(r.GetItems()) > 0 {
		item = r.GetItems()[0]
	}
	if item.GetPending() {
		a.out.printf("Stored as entry %s of today's log%s; the daemon decides in the background.\n", item.GetId(),
			operation(r.GetResult()))
		for _, o := range r.GetResult().GetOutcomes() {
			a.takenOut(o)
		}
		return
	}
	text := a.out.colour(bold, strings.ToUpper(word(item.GetDecision())))
	if item.GetId() != "" {
		text += " " + item.GetId()
	}
	if item.GetLogDate() != "" {
		text += " in the log of " + item.GetLogDate()
	}
	text += operation(r.GetResult())
	if item.GetReason() != "" {
		text += ": " + oneLine(reasonText(item.GetReason()))
	}
	if dry {
		text = "Would be: " + text
	}
	a.out.printf("%s\n", text)
	for _, o := range r.GetResult().GetOutcomes() {
		a.takenOut(o)
	}
	if dry {
		a.printDry(r.GetChanges())
	}
}
