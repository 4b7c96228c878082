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
	cmd := &cobra.Command{
		Use:   "consolidate TEXT|-",
		Short: "Save a text the way an agent does: compared with what is known first",
		Long: `Save a text the way an agent does. It is compared with what is known, and then it is added, updates or removes a memory,
or changes nothing. --dry-run only says which.`,
		Args: cobra.ExactArgs(1),
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
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
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

func (a *app) printDecision(r *pb.MemoryServiceConsolidateResponse, dry bool) {
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
}
