package main

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// updateCommand is "update": MemoryService.Update. Only flags that were given are in the update mask.
func (a *app) updateCommand() *cobra.Command {
	patch := &pb.MemoryPatch{}
	req := &pb.MemoryServiceUpdateRequest{Patch: patch}
	var content, category, title, description, source, expiresAt string
	var salience, confidence float64
	var pin bool
	cmd := &cobra.Command{
		Use:     "update ID",
		Short:   "Change a memory",
		Long:    "Change the given fields of a memory. An empty value clears the title, the description, the tags or the expiry.",
		Example: `  memsidecar update 0199a2c4-6e1b-7c33-9f0d-5b8e2d7a41f6 --salience 0.9 --tag git --expect 12`,
		Args:    cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&content, "content", "", "new text; - reads standard input")
	f.StringVar(&category, "category", "", "new category")
	f.Float64Var(&salience, "salience", 0, "importance, 0 to 1")
	f.StringArrayVar(&patch.Tags, "tag", nil, "replace all tags (repeatable)")
	f.StringVar(&title, "title", "", "new title")
	f.StringVar(&description, "description", "", "one line on what it is about")
	f.BoolVar(&pin, "pin", false, "pin; --pin=false unpins")
	f.StringVar(&source, "source", "", "origin of the memory")
	f.Float64Var(&confidence, "confidence", 0, "confidence of the source, 0 to 1")
	f.StringVar(&expiresAt, "expires-at", "", "expiry time")
	f.Int64Var(&req.ExpectedRevision, "expect", 0, "fail unless the memory has this revision")
	addKeepFlag(f, &req.AllowSensitive)
	addWriteFlags(f, &req.IdempotencyKey, &req.Reason)
	fields := []struct{ flag, field string }{{"content", "content"}, {"category", "category"}, {"salience", "salience"},
		{"tag", "tags"},
		{"title", "title"}, {"description", "description"}, {"pin", "pinned"}, {"source", "source"}, {"confidence", "confidence"},
		{"expires-at", "expires_at"}}
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
		patch.Content, patch.Category, patch.Title = given(f, "content", &content), given(f, "category", &category),
			given(f, "title", &title)
		patch.Description = given(f, "description", &description)
		patch.Source, patch.Salience = given(f, "source", &source), given(f, "salience", &salience)
		patch.Confidence, patch.Pinned = given(f, "confidence", &confidence), given(f, "pin", &pin)
		req.UpdateMask = &fieldmaskpb.FieldMask{}
		for _, x := range fields {
			if f.Changed(x.flag) {
				req.UpdateMask.Paths = append(req.UpdateMask.Paths, x.field)
			}
		}
		if len(req.UpdateMask.Paths) == 0 {
			return usagef("nothing to change; give at least one of --content, --category, --salience, --tag, " +
				"--title, --pin")
		}
		ids, err := a.memoryIDs(ctx, c, args)
		if err != nil {
			return err
		}
		req.Space, req.Id = a.flags.space, ids[0]
		resp, err := c.memory.Update(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Changed", "No change:")
	})
	return cmd
}
