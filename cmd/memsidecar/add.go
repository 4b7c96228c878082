package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func (a *app) addCommand() *cobra.Command {
	m := &pb.NewMemory{}
	req := &pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{m}}
	var salience, confidence float64
	var createdAt, expiresAt string
	cmd := &cobra.Command{
		Use:   "add TEXT|-",
		Short: "Store a memory as it is",
		Long: `Store a memory as it is. An equal one of the same category is not stored twice. To have a text compared with what is
known first, use "memsidecar consolidate".`,
		Example: `  memsidecar add "Prefers small commits" --category preferences --salience 0.8
  git log -1 --format=%B | memsidecar add - --category facts --tag git`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&m.Category, "category", "", "preferences, facts, tasks, reflections, procedural, general or a slug of your own (default \"general\")")
	f.Float64Var(&salience, "salience", 0.5, "importance, 0 to 1")
	f.StringVar(&m.Title, "title", "", "short name")
	f.StringArrayVar(&m.Tags, "tag", nil, "a tag; may be repeated")
	f.StringVar(&m.Id, "id", "", "id (default: a new one)")
	f.BoolVar(&m.Pinned, "pin", false, "never expires, is never compressed")
	f.StringVar(&m.Source, "source", "", "the path it came by (default \"user_explicit\")")
	f.Float64Var(&confidence, "confidence", 1, "how sure the source is, 0 to 1")
	f.StringVar(&createdAt, "created-at", "", "when it was learnt (default now)")
	f.StringVar(&expiresAt, "expires-at", "", "when it expires (default never)")
	f.StringVar(&req.IdempotencyKey, "key", "", "idempotency key: the same key within 24 hours does nothing again")
	f.StringVar(&req.Reason, "reason", "", "why, for the list of operations")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if m.Content, err = a.text(args[0]); err != nil {
			return err
		}
		if m.CreatedAt, err = a.instant("created-at", createdAt); err != nil {
			return err
		}
		if m.ExpiresAt, err = a.instant("expires-at", expiresAt); err != nil {
			return err
		}
		req.Space = a.flags.space
		m.Salience, m.Confidence = given(f, "salience", &salience), given(f, "confidence", &confidence)
		resp, err := c.memory.Add(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Added", "Known already, nothing added: it is")
	})
	return cmd
}
