package main

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) updateCommand() *cobra.Command {
	patch := &pb.MemoryPatch{}
	req := &pb.MemoryServiceUpdateRequest{Patch: patch}
	var content, category, title, source, expiresAt string
	var salience, confidence float64
	var pin bool
	cmd := &cobra.Command{
		Use:     "update ID",
		Short:   "Change a memory",
		Long:    "Change the fields of a memory that are given. An empty value clears a title, the tags or the expiry.",
		Example: `  memsidecar update 0199… --salience 0.9 --tag git --expect 12`,
		Args:    cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&content, "content", "", "new text; - reads it from standard input")
	f.StringVar(&category, "category", "", "new category")
	f.Float64Var(&salience, "salience", 0, "importance, 0 to 1")
	f.StringArrayVar(&patch.Tags, "tag", nil, "replaces all tags; may be repeated")
	f.StringVar(&title, "title", "", "short name")
	f.BoolVar(&pin, "pin", false, "pins; --pin=false unpins")
	f.StringVar(&source, "source", "", "the path it came by")
	f.Float64Var(&confidence, "confidence", 0, "how sure the source is, 0 to 1")
	f.StringVar(&expiresAt, "expires-at", "", "when it expires")
	f.Int64Var(&req.ExpectedRevision, "expect", 0, "refuse when the memory has another revision")
	f.StringVar(&req.IdempotencyKey, "key", "", "idempotency key")
	f.StringVar(&req.Reason, "reason", "", "why, for the list of operations")
	fields := []struct{ flag, field string }{{"content", "content"}, {"category", "category"}, {"salience", "salience"}, {"tag", "tags"},
		{"title", "title"}, {"pin", "pinned"}, {"source", "source"}, {"confidence", "confidence"}, {"expires-at", "expires_at"}}
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if content, err = a.text(content); err != nil {
			return err
		}
		if patch.ExpiresAt, err = a.instant("expires-at", expiresAt); err != nil {
			return err
		}
		if len(patch.Tags) == 1 && patch.Tags[0] == "" {
			patch.Tags = nil
		}
		patch.Content, patch.Category, patch.Title = given(f, "content", &content), given(f, "category", &category), given(f, "title", &title)
		patch.Source, patch.Salience = given(f, "source", &source), given(f, "salience", &salience)
		patch.Confidence, patch.Pinned = given(f, "confidence", &confidence), given(f, "pin", &pin)
		req.UpdateMask = &fieldmaskpb.FieldMask{}
		for _, x := range fields {
			if f.Changed(x.flag) {
				req.UpdateMask.Paths = append(req.UpdateMask.Paths, x.field)
			}
		}
		if len(req.UpdateMask.Paths) == 0 {
			return usagef("nothing to change: give at least one of --content, --category, --salience, --tag, --title, --pin")
		}
		req.Space, req.Id = a.flags.space, args[0]
		resp, err := c.memory.Update(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Changed", "Nothing to change in")
	})
	return cmd
}
