package main

import (
	"context"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) reviewCommand() *cobra.Command {
	req := &pb.ReviewServiceListRequest{}
	cmd := &cobra.Command{
		Use:   "review",
		Short: "Proposed changes that wait for you; review accept ID or reject ID decides",
		Long: `What was learnt and would have lost a number, a name, a negation or most of a text, or retired what you saved yourself, is not done:
it waits here, with its reason and the text before and after. Accepting an item carries it out, rejecting it does nothing but say so; either
is one operation that undo takes back, and then the item waits again. An item whose memory changed since can only be rejected.`,
		Args: cobra.NoArgs,
		RunE: a.reviewList(req),
	}
	list := &cobra.Command{Use: "list", Short: "List the proposed changes that wait", Args: cobra.NoArgs, RunE: a.reviewList(req)}
	for _, c := range []*cobra.Command{cmd, list} {
		c.Flags().BoolVar(&req.IncludeResolved, "all", false, "list what was decided too")
		c.Flags().BoolVar(&req.AllSpaces, "all-spaces", false, "list those of all spaces")
	}
	cmd.AddCommand(list, a.reviewShow(), a.reviewResolve("accept ID", "Carry a proposed change out, as one operation", true),
		a.reviewResolve("reject ID", "Turn a proposed change down", false))
	return cmd
}

func (a *app) reviewList(req *pb.ReviewServiceListRequest) func(*cobra.Command, []string) error {
	return a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		req.Space = a.flags.space
		resp, err := c.review.List(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printReviews(resp, req.AllSpaces) })
	})
}

func (a *app) printReviews(r *pb.ReviewServiceListResponse, spaces bool) {
	if len(r.GetItems()) == 0 {
		where := a.inSpace()
		if spaces {
			where = ""
		}
		a.out.printf("No proposed changes wait%s. What is learnt is done by itself, and \"memsidecar ops\" shows it.\n", where)
		return
	}
	var rows [][]string
	for _, i := range r.GetItems() {
		state := word(i.GetState())
		if i.GetStale() {
			state = "stale"
		}
		where := ""
		if spaces {
			where = i.GetSpace() + ": "
		}
		text := "retire: " + i.GetBefore()
		if i.GetProposed() != nil {
			text = i.GetBefore() + " → " + i.GetProposed().GetContent()
		}
		rows = append(rows, []string{i.GetId(), a.out.age(i.GetProposedAt().AsTime()), state, reasonText(i.GetReason()), where + oneLine(text)})
	}
	a.out.table([]string{"ITEM", "PROPOSED", "STATE", "WHY NOT DONE", "CHANGE"}, rows)
	a.out.printf("Decide: memsidecar review accept %s, or: memsidecar review reject %s\n", r.GetItems()[0].GetId(), r.GetItems()[0].GetId())
}

func (a *app) reviewShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a proposed change with the text before and after",
		Args:  cobra.ExactArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			resp, err := c.review.Get(ctx, &pb.ReviewServiceGetRequest{Space: a.flags.space, Id: args[0]})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() { a.printReview(resp) })
		}),
	}
}

func (a *app) printReview(r *pb.ReviewServiceGetResponse) {
	i := r.GetItem()
	a.out.fields([][2]string{
		{"item", i.GetId()}, {"state", word(i.GetState())}, {"proposed", a.when(i.GetProposedAt()) + ", by the " + i.GetProposedBy()},
		{"session", i.GetSession()}, {"not done", reasonText(i.GetReason())}, {"memory", i.GetTargetId()}, {"decided", a.when(i.GetResolvedAt())},
	})
	a.out.printf("%s\n", a.out.colour(red, "- "+printable(i.GetBefore())))
	if p := i.GetProposed(); p != nil {
		a.out.printf("%s\n", a.out.colour(green, "+ "+printable(p.GetContent())))
	} else {
		a.out.printf("It would be retired, which can be taken back.\n")
	}
	switch {
	case i.GetStale() && r.GetCurrent() == nil:
		a.out.printf("The memory is gone. Clear this away with: memsidecar review reject %s\n", i.GetId())
	case i.GetStale():
		a.out.printf("The memory has changed since; it says now: %s\nClear this away with: memsidecar review reject %s\n", oneLine(r.GetCurrent().GetContent()), i.GetId())
	case i.GetState() == pb.ReviewState_REVIEW_STATE_PENDING:
		a.out.printf("Decide: memsidecar review accept %s, or: memsidecar review reject %s\n", i.GetId(), i.GetId())
	}
}

func (a *app) reviewResolve(use, short string, accept bool) *cobra.Command {
	req := &pb.ReviewServiceResolveRequest{Accept: accept}
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1)}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the list of operations")
	cmd.Flags().StringVar(&req.IdempotencyKey, "key", "", "idempotency key")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space, req.Id = a.flags.space, args[0]
		resp, err := c.review.Resolve(ctx, req)
		if err != nil {
			return err
		}
		verb := "Rejected"
		if accept {
			verb = "Accepted; changed"
		}
		return a.written(resp, resp.GetResult(), verb, "Decided the same way before:")
	})
	return cmd
}

// waitingReviews is the line of a status about proposed changes that wait, empty when none does.
func (a *app) waitingReviews(ctx context.Context, c *client) string {
	resp, err := c.review.List(ctx, &pb.ReviewServiceListRequest{AllSpaces: true})
	if err != nil || resp.GetPending() == 0 {
		return "" // the status is about the daemon: it must not fail because of this
	}
	return a.out.colour(amber, plural(int64(resp.GetPending()), "proposed change waits", "proposed changes wait")+" for you; see `memsidecar review list --all-spaces`")
}
