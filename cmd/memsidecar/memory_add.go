package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// itoa is a number in decimal.
func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// addCommand is "add": MemoryService.Add.
func (a *app) addCommand() *cobra.Command {
	m := &pb.NewMemory{}
	req := &pb.MemoryServiceAddRequest{Items: []*pb.NewMemory{m}}
	var salience, confidence float64
	var createdAt, expiresAt string
	cmd := &cobra.Command{
		Use:   "add TEXT|-",
		Short: "Add a memory",
		Long: `Add a memory with exactly this text. A duplicate in the same category is not added again. To compare
a text with existing memories first, use "memsidecar memory consolidate".`,
		Example: `  memsidecar add "Prefers small commits" --category preferences --salience 0.8
  memsidecar add "The donation page shows key 5f2c…" --keep
  git log -1 --format=%B | memsidecar add - --category facts --tag git`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&m.Category, "category", "",
		"preferences, facts, tasks, reflections, procedural, general, or any slug (default \"general\")")
	f.Float64Var(&salience, "salience", 0.5, "importance, 0 to 1")
	f.StringVar(&m.Title, "title", "", "title")
	f.StringVar(&m.Description, "description", "", "one line on what it is about")
	f.StringArrayVar(&m.Tags, "tag", nil, "tag (repeatable)")
	f.StringVar(&m.Id, "id", "", "id (default: generated)")
	f.BoolVar(&m.Pinned, "pin", false, "never expire or compress this memory")
	f.StringVar(&m.Source, "source", "", "origin of the memory (default \"user_explicit\")")
	f.Float64Var(&confidence, "confidence", 1, "confidence of the source, 0 to 1")
	f.StringVar(&createdAt, "created-at", "", "time of the knowledge (default now)")
	f.StringVar(&expiresAt, "expires-at", "", "expiry time (default never)")
	addKeepFlag(f, &req.AllowSensitive)
	addWriteFlags(f, &req.IdempotencyKey, &req.Reason)
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
		req.Space, m.Category = a.flags.space, strings.ToLower(m.Category)
		m.Salience, m.Confidence = given(f, "salience", &salience), given(f, "confidence", &confidence)
		resp, err := c.memory.Add(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Added", "Nothing added; already stored as")
	})
	return cmd
}
