package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// opsCommand groups the commands on operations; without a subcommand it lists them.
func (a *app) opsCommand() *cobra.Command {
	req := &pb.OperationServiceListRequest{}
	var limit int
	cmd := &cobra.Command{
		Use:   "ops",
		Short: "List operations, newest first; show or watch them",
		Long: `List operations, newest first. Every change is an operation: it can be listed, shown and undone for
as long as the history is kept (history_days).`,
		Example: `  memsidecar ops
  memsidecar ops show 12
  memsidecar ops watch`,
		Args: cobra.NoArgs,
		RunE: a.opsList(req, &limit),
	}
	list := &cobra.Command{Use: "list", Short: "List operations, newest first", Args: cobra.NoArgs,
		RunE: a.opsList(req, &limit)}
	for _, c := range []*cobra.Command{cmd, list} {
		c.Flags().IntVar(&limit, "limit", 20, "maximum number of operations; 0 for all")
		c.Flags().BoolVar(&req.IncludeBookkeeping, "all", false, "include access counts and session messages")
	}
	cmd.AddCommand(list, a.opsShow(), a.watchCommand())
	return cmd
}

// opsList is "ops list": OperationService.List.
func (a *app) opsList(req *pb.OperationServiceListRequest, limit *int) func(*cobra.Command, []string) error {
	return a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		req.Spaces = a.spaces()
		all := &pb.OperationServiceListResponse{}
		for {
			req.PageSize = pageSize(*limit, len(all.GetOperations()))
			page, err := c.ops.List(ctx, req)
			if err != nil {
				return err
			}
			all.Operations = append(all.Operations, page.GetOperations()...)
			all.NextPageToken = page.GetNextPageToken()
			if all.NextPageToken == "" || *limit > 0 && len(all.Operations) >= *limit {
				break
			}
			req.PageToken = all.NextPageToken
		}
		return a.out.result(all, func() { a.printOperations(all) })
	})
}

// printOperations prints operations as a table.
func (a *app) printOperations(r *pb.OperationServiceListResponse) {
	if len(r.GetOperations()) == 0 {
		a.out.printf("No operations yet%s. Add a memory: memsidecar add \"…\"\n", a.inSpace())
		return
	}
	var rows [][]string
	for _, op := range r.GetOperations() {
		rows = append(rows, []string{op.GetId(), a.out.age(op.GetAt().AsTime()), op.GetSpace(), word(op.GetActor()),
			itoa(int64(op.GetChangeCount())), why(op)})
	}
	a.out.table([]string{"OPERATION", "WHEN", "SPACE", "BY", "CHANGES", "WHY"}, rows)
	if r.GetNextPageToken() != "" {
		a.out.printf("More operations exist; --limit 0 shows all.\n")
	}
}

// why is the reason of an operation, with the operation that it undoes and its session.
func why(op *pb.Operation) string {
	text := oneLine(op.GetReason())
	if op.GetUndoesOperationId() != "" && text == "" {
		text = "undo of operation " + op.GetUndoesOperationId()
	}
	if op.GetSessionId() != "" {
		text += prefixed(" ", "(session "+op.GetSessionId()+")")
	}
	return text
}

// prefixed is prefix and s, or empty if s is empty.
func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// opsShow is "ops show": OperationService.Get.
func (a *app) opsShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show the changes of an operation",
		Long:    "Show the changes of an operation. ID is an operation id, such as 1234-k3f9, or its number.",
		Example: "  memsidecar ops show 12",
		Args:    cobra.ExactArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			all := &pb.OperationServiceGetResponse{}
			err := eachPage(func(token string) (string, error) {
				page, err := c.ops.Get(ctx, &pb.OperationServiceGetRequest{Id: args[0], PageToken: token})
				if all.Operation == nil {
					all.Operation = page.GetOperation()
				} else {
					all.Operation.Changes = append(all.Operation.Changes, page.GetOperation().GetChanges()...)
				}
				return page.GetNextPageToken(), err
			})
			if err != nil {
				return err
			}
			return a.out.result(all, func() { a.printOperation(all.GetOperation()) })
		}),
	}
}

// historyCommand is "history": MemoryService.History.
func (a *app) historyCommand() *cobra.Command {
	req := &pb.MemoryServiceHistoryRequest{}
	var limit int
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "Show the operations on a memory, newest first",
		Args:  cobra.ExactArgs(1),
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "maximum number of operations; 0 for all")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		ids, err := a.memoryIDs(ctx, c, args)
		if err != nil {
			return err
		}
		req.Space, req.Id = a.flags.space, ids[0]
		resp := &pb.MemoryServiceHistoryResponse{}
		err = eachPage(func(token string) (string, error) {
			req.PageToken, req.PageSize = token, pageSize(limit, len(resp.GetOperations()))
			page, err := c.memory.History(ctx, req)
			resp.Operations = append(resp.Operations, page.GetOperations()...)
			return nextPage(limit, len(resp.GetOperations()), page.GetNextPageToken()), err
		})
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			if len(resp.GetOperations()) == 0 {
				a.out.printf("The history of this memory has expired; see history_days in \"memsidecar config\".\n")
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
