package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) opsCommand() *cobra.Command {
	req := &pb.OperationServiceListRequest{}
	var limit int
	cmd := &cobra.Command{
		Use:   "ops",
		Short: "List what changed, newest first; ops show N shows one operation",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "most operations; 0 is all")
	cmd.Flags().BoolVar(&req.IncludeAll, "all", false, "also the counting of accesses and the messages of sessions")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		req.Spaces = a.spaces()
		all := &pb.OperationServiceListResponse{}
		for {
			req.PageSize = pageSize(limit, len(all.GetOperations()))
			page, err := c.ops.List(ctx, req)
			if err != nil {
				return err
			}
			all.Operations = append(all.Operations, page.GetOperations()...)
			all.NextPageToken = page.GetNextPageToken()
			if all.NextPageToken == "" || limit > 0 && len(all.Operations) >= limit {
				break
			}
			req.PageToken = all.NextPageToken
		}
		return a.out.result(all, func() { a.printOperations(all) })
	})
	cmd.AddCommand(a.opsShow())
	return cmd
}

func (a *app) printOperations(r *pb.OperationServiceListResponse) {
	if len(r.GetOperations()) == 0 {
		a.out.printf("Nothing was changed yet%s. Add a memory: memsidecar add \"…\"\n", a.inSpace())
		return
	}
	var rows [][]string
	for _, op := range r.GetOperations() {
		rows = append(rows, []string{itoa(op.GetNumber()), a.out.age(op.GetAt().AsTime()), op.GetSpace(), op.GetActor(), itoa(int64(op.GetChangeCount())), why(op)})
	}
	a.out.table([]string{"OPERATION", "WHEN", "SPACE", "BY", "CHANGES", "WHY"}, rows)
	if r.GetNextPageToken() != "" {
		a.out.printf("There are more; --limit 0 shows all.\n")
	}
}

// why is the reason of an operation, with what it took back.
func why(op *pb.Operation) string {
	text := oneLine(op.GetReason())
	if op.GetUndoes() > 0 && text == "" {
		text = "undo of operation " + itoa(op.GetUndoes())
	}
	if op.GetSession() != "" {
		text += prefixed(" ", "(session "+op.GetSession()+")")
	}
	return text
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// operationNumber reads an argument.
func operationNumber(arg string) (int64, error) {
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || n < 1 {
		return 0, usagef("%q is not the number of an operation; \"memsidecar ops\" lists them", arg)
	}
	return n, nil
}

func (a *app) opsShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show N",
		Short: "Show what an operation changed",
		Args:  cobra.ExactArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			n, err := operationNumber(args[0])
			if err != nil {
				return err
			}
			resp, err := c.ops.Get(ctx, &pb.OperationServiceGetRequest{Number: n})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() { a.printOperation(resp.GetOperation()) })
		}),
	}
}

func (a *app) undoCommand() *cobra.Command {
	req := &pb.OperationServiceUndoRequest{}
	cmd := &cobra.Command{
		Use:   "undo N",
		Short: "Take an operation back, as an operation of its own",
		Long: `Take an operation back. What something later changed is left alone and named. An undo is an operation itself and can be
taken back in turn.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&req.IdempotencyKey, "key", "", "idempotency key")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the list of operations")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if req.Number, err = operationNumber(args[0]); err != nil {
			return err
		}
		resp, err := c.ops.Undo(ctx, req)
		if err != nil {
			return err
		}
		return a.undone(resp, req.Number)
	})
	return cmd
}

// undone says what was taken back, and names what was left alone.
func (a *app) undone(resp *pb.OperationServiceUndoResponse, number int64) error {
	r := resp.GetResult()
	var left []*pb.Outcome
	for _, o := range r.GetOutcomes() {
		if o.GetStatus() == pb.OutcomeStatus_OUTCOME_STATUS_REJECTED {
			left = append(left, o)
		}
	}
	err := a.out.result(resp, func() {
		if r.GetOperation() > 0 {
			a.out.printf("Took back %s of operation %d%s.\n", plural(int64(len(r.GetOutcomes())-len(left)), "change", "changes"), number, operation(r))
		} else {
			a.out.printf("Nothing of operation %d was taken back.\n", number)
		}
		for _, o := range left {
			a.out.printf("%s\n", a.out.colour(amber, "Left alone "+o.GetId()+": "+reasonWords(o.GetReason())+"."))
		}
	})
	if err == nil && len(left) > 0 {
		return failed(exitError)
	}
	return err
}

func (a *app) historyCommand() *cobra.Command {
	req := &pb.MemoryServiceHistoryRequest{}
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "Show what happened to a memory, newest first",
		Args:  cobra.ExactArgs(1),
	}
	cmd.Flags().Int32Var(&req.Limit, "limit", 20, "most operations, 1 to 1000")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space, req.Id = a.flags.space, args[0]
		resp, err := c.memory.History(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			if len(resp.GetOperations()) == 0 {
				a.out.printf("Its history is no longer kept; see history_days in \"memsidecar config\".\n")
			}
			for i, op := range resp.GetOperations() {
				if i > 0 {
					a.out.printf("\n")
				}
				a.printOperation(op)
			}
		})
	})
	return cmd
}
