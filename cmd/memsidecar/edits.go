package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// editsCommand groups the commands on edits of published files; without a subcommand it lists them.
func (a *app) editsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edits",
		Short: "List, accept and reject pending edits of the published files",
		Long: `The daemon adopts edits of memory.json and of the daily logs as operations, which you can undo. An
edit stays pending if the file is not valid (refused), if the edit removes very much or is an older version
(ambiguous), or if part of it conflicts with later operations (conflict; the rest was adopted). A copy of the edited
file stays in quarantine/ whatever you decide.`,
		Example: `  memsidecar edits
  memsidecar edits show 3f9a
  memsidecar edits accept 3f9a`,
		Args: cobra.NoArgs,
		RunE: a.editsList(),
	}
	list := &cobra.Command{Use: "list", Short: "List pending edits", Args: cobra.NoArgs, RunE: a.editsList()}
	cmd.AddCommand(list, a.editsShow(), a.editsResolve("accept ID", "Apply an edit as one operation",
		pb.Resolution_RESOLUTION_ACCEPT),
		a.editsResolve("reject ID", "Discard an edit and publish the file again", pb.Resolution_RESOLUTION_REJECT))
	return cmd
}

// editsList is "edits list": FileService.ListEdits.
func (a *app) editsList() func(*cobra.Command, []string) error {
	return a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		all, err := listEdits(ctx, c)
		if err != nil {
			return err
		}
		return a.out.result(all, func() { a.printEdits(all.GetEdits()) })
	})
}

// listEdits reads all pages of pending edits.
func listEdits(ctx context.Context, c *client) (*pb.FileServiceListEditsResponse, error) {
	all := &pb.FileServiceListEditsResponse{}
	err := eachPage(func(token string) (string, error) {
		page, err := c.files.ListEdits(ctx, &pb.FileServiceListEditsRequest{PageToken: token})
		all.Edits = append(all.Edits, page.GetEdits()...)
		return page.GetNextPageToken(), err
	})
	return all, err
}

// printEdits prints pending edits as a table.
func (a *app) printEdits(edits []*pb.Edit) {
	if len(edits) == 0 {
		a.out.printf("No pending edits. The daemon adopts valid edits of memory.json and the daily logs; " +
			"\"memsidecar ops\" lists them.\n")
		return
	}
	var rows [][]string
	for _, e := range edits {
		why := ""
		for _, d := range e.GetDetails() {
			why += prefixed("; ", oneLine(d))
		}
		if why != "" {
			why = why[len("; "):]
		}
		rows = append(rows, []string{e.GetId(), a.out.age(e.GetDetectedAt().AsTime()), e.GetFile(), word(e.GetKind()),
			why})
	}
	a.out.table([]string{"EDIT", "DETECTED", "FILE", "KIND", "WHY"}, rows)
	a.out.printf("Show the effect of accepting an edit: memsidecar edits show %s\n", edits[0].GetId())
}

// editsShow is "edits show": FileService.GetEdit.
func (a *app) editsShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show an edit and the effect of accepting it",
		Args:  cobra.ExactArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			all := &pb.FileServiceGetEditResponse{}
			err := eachPage(func(token string) (string, error) {
				page, err := c.files.GetEdit(ctx, &pb.FileServiceGetEditRequest{Id: args[0], PageToken: token})
				all.Edit, all.Changes = page.GetEdit(), append(all.GetChanges(), page.GetChanges()...)
				return page.GetNextPageToken(), err
			})
			if err != nil {
				return err
			}
			return a.out.result(all, func() { a.printEdit(all) })
		}),
	}
}

// printEdit prints an edit, the changes that accepting it would make, and how to decide.
func (a *app) printEdit(r *pb.FileServiceGetEditResponse) {
	e := r.GetEdit()
	content := ""
	if e.GetInPlace() {
		content = "the edit; the daemon does not overwrite it until you decide"
	}
	base := ""
	if e.GetBaseOperationId() != "" {
		base = "operation " + e.GetBaseOperationId()
	}
	a.out.fields([][2]string{
		{"edit", e.GetId()}, {"file", e.GetFile()}, {"kind", word(e.GetKind())},
		{"detected", a.when(e.GetDetectedAt())},
		{"based on", base}, {"copy", e.GetQuarantinePath()}, {"file contains", content},
	})
	for _, d := range e.GetDetails() {
		a.out.printf("  %s\n", a.out.colour(amber, oneLine(d)))
	}
	switch {
	case e.GetKind() == pb.EditKind_EDIT_KIND_REFUSED && e.GetInPlace():
		a.out.printf("Fix the file, and the daemon adopts it; or run: memsidecar edits reject %s\n", e.GetId())
		return
	case e.GetKind() == pb.EditKind_EDIT_KIND_REFUSED:
		a.out.printf("Copy what is missing into the current file, then run: memsidecar edits reject %s\n", e.GetId())
		return
	case len(r.GetChanges()) == 0:
		a.out.printf("Accepting this edit would change nothing.\n")
	default:
		a.out.printf("Accepting this edit would change:\n")
	}
	for _, ch := range r.GetChanges() {
		a.printChange(ch)
	}
	a.out.printf("Decide: memsidecar edits accept %s, or: memsidecar edits reject %s\n", e.GetId(), e.GetId())
}

// editsResolve is "edits accept" or "edits reject": FileService.ResolveEdit.
func (a *app) editsResolve(use, short string, resolution pb.Resolution) *cobra.Command {
	req := &pb.FileServiceResolveEditRequest{Resolution: resolution}
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1)}
	addWriteFlags(cmd.Flags(), &req.IdempotencyKey, nil)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Id = args[0]
		resp, err := c.files.ResolveEdit(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			switch op := resp.GetResult().GetOperationId(); {
			case resolution == pb.Resolution_RESOLUTION_REJECT:
				a.out.printf("Rejected. A copy of the edit stays in quarantine/.\n")
			case op == "":
				a.out.printf("Accepted; there was nothing left to change.\n")
			default:
				a.out.printf("Accepted (operation %s). To undo: memsidecar undo %s\n", op, op)
			}
		})
	})
	return cmd
}

// pendingEdits is the status line about pending edits; it is empty if there are none.
func (a *app) pendingEdits(ctx context.Context, c *client) string {
	all, err := listEdits(ctx, c)
	if err != nil || len(all.GetEdits()) == 0 {
		return "" // status must not fail because of this
	}
	return a.out.colour(amber, plural(int64(len(all.GetEdits())), "edit", "edits")+" pending; see `memsidecar edits`")
}
