package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// undoer holds the flags of undo.
type undoer struct {
	app        *app
	req        *pb.OperationServiceUndoRequest
	importedBy string
}

// undoCommand is "undo": OperationService.Undo, for one operation or for several, newest first.
func (a *app) undoCommand() *cobra.Command {
	u := &undoer{app: a, req: &pb.OperationServiceUndoRequest{}}
	cmd := &cobra.Command{
		Use:   "undo ID|FIRST..LAST",
		Short: "Undo operations (recorded as new operations)",
		Long: `Undo an operation, or a range of them, newest first. Changes that a later operation overwrote are kept and
listed. An undo is itself an operation, so you can undo it. ID is an operation id, such as 1234-k3f9, or its number.

--import undoes a whole import: name one of its operations, or the name that "memsidecar ops" shows in its
reason.`,
		Example: "  memsidecar undo 12\n  memsidecar undo 12..20\n  memsidecar undo --import 12",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&u.importedBy, "import", "", "undo all operations of an import")
	addWriteFlags(cmd.Flags(), &u.req.IdempotencyKey, &u.req.Reason)
	cmd.RunE = a.withClient(func(_ context.Context, c *client, cmd *cobra.Command, args []string) error {
		return u.run(cmd.Context(), c, args)
	})
	return cmd
}

// run finds the operations and undoes them. Each call has the whole --timeout: a large import takes many.
func (u *undoer) run(ctx context.Context, c *client, args []string) error {
	if (len(args) == 0) == (u.importedBy == "") {
		return usagef("name an operation, a range FIRST..LAST, or --import ID")
	}
	ids := args
	var err error
	if u.importedBy != "" {
		ids, err = u.ofImport(ctx, c)
	} else if first, last, isRange := strings.Cut(args[0], ".."); isRange {
		ids, err = u.list(ctx, c, first, last, nil)
	}
	if err != nil {
		return err
	}
	if len(ids) == 1 {
		resp, err := u.undo(ctx, c, ids[0], u.req.GetIdempotencyKey())
		if err != nil {
			return err
		}
		return u.app.undone(resp, ids[0])
	}
	return u.several(ctx, c, ids)
}

// undo reverts one operation.
func (u *undoer) undo(ctx context.Context, c *client, id, key string) (*pb.OperationServiceUndoResponse, error) {
	ctx, cancel := u.app.deadline(ctx)
	defer cancel()
	return c.ops.Undo(ctx, &pb.OperationServiceUndoRequest{Id: id, IdempotencyKey: key, Reason: u.req.GetReason()})
}

// list returns the ids of the operations from first to last that match, newest first.
func (u *undoer) list(ctx context.Context, c *client, first, last string,
	match func(*pb.Operation) bool) (ids []string, err error) {
	ctx, cancel := u.app.deadline(ctx)
	defer cancel()
	err = eachPage(func(token string) (string, error) {
		page, err := c.ops.List(ctx, &pb.OperationServiceListRequest{Spaces: u.app.spaces(), FirstId: first,
			LastId: last, PageSize: 1000, PageToken: token})
		for _, op := range page.GetOperations() {
			if match == nil || match(op) {
				ids = append(ids, op.GetId())
			}
		}
		return page.GetNextPageToken(), err
	})
	if err == nil && len(ids) == 0 {
		err = &cliError{what: "no operation matches", hint: "\"memsidecar ops\" lists the operations."}
	}
	return ids, err
}

// ofImport returns the operations of one import, newest first: all whose reason begins with the same name.
func (u *undoer) ofImport(ctx context.Context, c *client) ([]string, error) {
	name := u.importedBy
	got, err := u.get(ctx, c, name)
	if err == nil {
		if name = importName(got); name == "" {
			return nil, &cliError{what: "operation " + u.importedBy + " is no import",
				hint: "\"memsidecar ops\" shows who made each operation."}
		}
	}
	return u.list(ctx, c, "", "", func(op *pb.Operation) bool { return importName(op) == name })
}

// get reads an operation.
func (u *undoer) get(ctx context.Context, c *client, id string) (*pb.Operation, error) {
	ctx, cancel := u.app.deadline(ctx)
	defer cancel()
	resp, err := c.ops.Get(ctx, &pb.OperationServiceGetRequest{Id: id, PageSize: 1})
	return resp.GetOperation(), err
}

// importName is the name of the import that an operation is part of, "" for none.
func importName(op *pb.Operation) string {
	rest, found := strings.CutPrefix(op.GetReason(), "import ")
	name, _, _ := strings.Cut(rest, " of ")
	if !found || op.GetActor() != pb.Actor_ACTOR_IMPORT {
		return ""
	}
	return name
}

// several undoes operations one after another and reports the sum.
func (u *undoer) several(ctx context.Context, c *client, ids []string) error {
	a := u.app
	p := newProgress(a.out)
	defer p.clear()
	var reverted, left int64
	var operations []string
	for i, id := range ids {
		key := u.req.GetIdempotencyKey()
		if key != "" {
			key += "-" + id // one key for each call, the same when the command is repeated
		}
		resp, err := u.undo(ctx, c, id, key)
		if err != nil {
			return fmt.Errorf("undo operation %s (%d of %d were undone): %w", id, i, len(ids), err)
		}
		for _, o := range resp.GetResult().GetOutcomes() {
			if o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED {
				left++
			} else {
				reverted++
			}
		}
		if op := resp.GetResult().GetOperationId(); op != "" {
			operations = append(operations, op)
		}
		p.show("%d of %d operations undone", i+1, len(ids))
	}
	p.clear()
	if a.out.json {
		return a.out.object(object{{"operations", ids}, {"reverted", reverted}, {"not_reverted", left},
			{"operation_ids", slices.Clip(operations)}})
	}
	a.out.printf("Reverted %s of %s, %s to %s.\n", plural(reverted, "change", "changes"),
		plural(int64(len(ids)), "operation", "operations"), ids[len(ids)-1], ids[0])
	if left > 0 {
		a.out.printf("%s\n", a.out.colour(amber, "Not reverted: "+plural(left, "change", "changes")+
			" that a later operation overwrote."))
		return failed(exitError)
	}
	if n := len(operations); n > 0 {
		a.out.printf("To redo: memsidecar undo %s..%s\n", operations[0], operations[n-1])
	}
	return nil
}

// undone reports the reverted changes, and lists those that were not reverted.
func (a *app) undone(resp *pb.OperationServiceUndoResponse, id string) error {
	r := resp.GetResult()
	var left []*pb.Outcome
	for _, o := range r.GetOutcomes() {
		if o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED {
			left = append(left, o)
		}
	}
	err := a.out.result(resp, func() {
		if r.GetOperationId() != "" {
			a.out.printf("Reverted %s of operation %s%s.\n",
				plural(int64(len(r.GetOutcomes())-len(left)), "change", "changes"), id, operation(r))
		} else {
			a.out.printf("No change of operation %s was reverted.\n", id)
		}
		for _, o := range left {
			a.out.printf("%s\n", a.out.colour(amber, "Not reverted: "+o.GetId()+": "+reasonWords(o.GetReason())+"."))
		}
	})
	if err == nil && len(left) > 0 {
		return failed(exitError)
	}
	return err
}
