package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) editsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edits",
		Short: "Edits of the published files that wait for you; edits accept ID or discard ID decides",
		Long: `What people and other programs write into memory.json and the daily logs is taken over by itself, as an operation that can be undone.
An edit waits for you when it cannot be read (refused), when it takes away very much or is an older version (ambiguous), or when a part of it
contradicts what happened since (conflict; the rest was taken over). Its bytes are kept in quarantine/ whatever you decide.`,
		Args: cobra.NoArgs,
		RunE: a.editsList(),
	}
	list := &cobra.Command{Use: "list", Short: "List the edits that wait", Args: cobra.NoArgs, RunE: a.editsList()}
	cmd.AddCommand(list, a.editsShow(), a.editsResolve("accept ID", "Take an edit over, as one operation", true),
		a.editsResolve("discard ID", "Leave an edit alone and publish the file anew", false))
	return cmd
}

func (a *app) editsList() func(*cobra.Command, []string) error {
	return a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		resp, err := c.admin.ListEdits(ctx, &pb.AdminServiceListEditsRequest{})
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printEdits(resp.GetEdits()) })
	})
}

func (a *app) printEdits(edits []*pb.Edit) {
	if len(edits) == 0 {
		a.out.printf("No edits wait. What you write into memory.json or a daily log is taken over by itself; \"memsidecar ops\" shows it.\n")
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
		rows = append(rows, []string{e.GetId(), a.out.age(e.GetNoticedAt().AsTime()), e.GetFile(), word(e.GetKind()), why})
	}
	a.out.table([]string{"EDIT", "NOTICED", "FILE", "KIND", "WHY"}, rows)
	a.out.printf("See what accepting one would change: memsidecar edits show %s\n", edits[0].GetId())
}

func (a *app) editsShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show an edit and what accepting it would change now",
		Args:  cobra.ExactArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			resp, err := c.admin.GetEdit(ctx, &pb.AdminServiceGetEditRequest{Id: args[0]})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() { a.printEdit(resp) })
		}),
	}
}

func (a *app) printEdit(r *pb.AdminServiceGetEditResponse) {
	e := r.GetEdit()
	held := ""
	if e.GetInPlace() {
		held = "the edit; nothing is published there before you decide"
	}
	base := ""
	if e.GetBase() > 0 {
		base = "operation " + itoa(e.GetBase())
	}
	a.out.fields([][2]string{
		{"edit", e.GetId()}, {"file", e.GetFile()}, {"kind", word(e.GetKind())}, {"noticed", a.when(e.GetNoticedAt())},
		{"made from", base}, {"copy", e.GetCopy()}, {"file holds", held},
	})
	for _, d := range e.GetDetails() {
		a.out.printf("  %s\n", a.out.colour(amber, oneLine(d)))
	}
	switch {
	case e.GetKind() == pb.EditKind_EDIT_KIND_REFUSED && e.GetInPlace():
		a.out.printf("Mend the file, and it is taken over by itself; or: memsidecar edits discard %s\n", e.GetId())
		return
	case e.GetKind() == pb.EditKind_EDIT_KIND_REFUSED:
		a.out.printf("Write what is missing into the file that is there now; then: memsidecar edits discard %s\n", e.GetId())
		return
	case len(r.GetChanges()) == 0:
		a.out.printf("Accepting it would change nothing any more.\n")
	default:
		a.out.printf("Accepting it would change:\n")
	}
	for _, ch := range r.GetChanges() {
		a.printChange(ch)
	}
	a.out.printf("Decide: memsidecar edits accept %s, or: memsidecar edits discard %s\n", e.GetId(), e.GetId())
}

func (a *app) editsResolve(use, short string, accept bool) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			resp, err := c.admin.ResolveEdit(ctx, &pb.AdminServiceResolveEditRequest{Id: args[0], Accept: accept})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() {
				switch op := resp.GetResult().GetOperation(); {
				case !accept:
					a.out.printf("Discarded. Its bytes stay in quarantine/.\n")
				case op == 0:
					a.out.printf("Accepted; there was nothing to change any more.\n")
				default:
					a.out.printf("Accepted, as operation %d; take it back with: memsidecar undo %d\n", op, op)
				}
			})
		}),
	}
}

// waitingEdits is the line of a status about edits that wait, empty when none does.
func (a *app) waitingEdits(ctx context.Context, c *client) string {
	resp, err := c.admin.ListEdits(ctx, &pb.AdminServiceListEditsRequest{})
	if err != nil || len(resp.GetEdits()) == 0 {
		return "" // the status is about the daemon: it must not fail because of this
	}
	return a.out.colour(amber, plural(int64(len(resp.GetEdits())), "edit waits", "edits wait")+" for you; see `memsidecar edits`")
}
