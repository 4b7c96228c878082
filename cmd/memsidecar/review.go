package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// reviewCommand groups the commands on proposed changes; without a subcommand it lists them.
func (a *app) reviewCommand() *cobra.Command {
	req := &pb.FileServiceListProposalsRequest{}
	cmd := &cobra.Command{
		Use:   "review",
		Short: "List, accept and reject proposed changes of memories",
		Long: `A learned change that would lose a number, a name, a negation or most of a text, or retire a memory
that you saved yourself, is not applied. It stays pending here, with the reason and the text before and after.
Accepting it applies the change; rejecting it only closes it. Both are operations; an undo makes the change pending
again. If the memory changed in the meantime, the proposed change can only be rejected.`,
		Example: `  memsidecar review
  memsidecar review show 5c1e
  memsidecar review accept 5c1e`,
		Args: cobra.NoArgs,
		RunE: a.reviewList(req),
	}
	list := &cobra.Command{Use: "list", Short: "List pending proposed changes", Args: cobra.NoArgs,
		RunE: a.reviewList(req)}
	for _, c := range []*cobra.Command{cmd, list} {
		c.Flags().BoolVar(&req.IncludeResolved, "all", false, "include decided ones")
		c.Flags().BoolVar(&req.AllSpaces, "all-spaces", false, "list proposed changes of all spaces")
	}
	cmd.AddCommand(list, a.reviewShow(), a.reviewResolve("accept ID", "Apply a proposed change as one operation",
		pb.Resolution_RESOLUTION_ACCEPT),
		a.reviewResolve("reject ID", "Reject a proposed change", pb.Resolution_RESOLUTION_REJECT))
	return cmd
}

// reviewList is "review list": FileService.ListProposals.
func (a *app) reviewList(req *pb.FileServiceListProposalsRequest) func(*cobra.Command, []string) error {
	return a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		req.Space = a.flags.space
		resp, err := listProposals(ctx, c, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printReviews(resp, req.AllSpaces) })
	})
}

// listProposals reads all pages of proposed changes.
func listProposals(ctx context.Context, c *client,
	req *pb.FileServiceListProposalsRequest) (*pb.FileServiceListProposalsResponse, error) {
	all := &pb.FileServiceListProposalsResponse{}
	err := eachPage(func(token string) (string, error) {
		req.PageToken = token
		page, err := c.files.ListProposals(ctx, req)
		all.Proposals, all.Pending = append(all.Proposals, page.GetProposals()...), page.GetPending()
		return page.GetNextPageToken(), err
	})
	return all, err
}

// printReviews prints proposed changes as a table.
func (a *app) printReviews(r *pb.FileServiceListProposalsResponse, spaces bool) {
	if len(r.GetProposals()) == 0 {
		where := a.inSpace()
		if spaces {
			where = ""
		}
		a.out.printf("No pending proposed changes%s. Other learned changes are applied at once; \"memsidecar ops\" "+
			"lists them.\n", where)
		return
	}
	var rows [][]string
	for _, i := range r.GetProposals() {
		state := word(i.GetState())
		if i.GetStale() {
			state = "stale"
		}
		where := ""
		if spaces {
			where = i.GetSpace() + ": "
		}
		text := "retire: " + i.GetBefore()
		switch {
		case i.GetProposed() != nil:
			text = i.GetBefore() + " → " + i.GetProposed().GetContent()
		case i.GetReplacedBy() != "":
			text += " → replaced by " + i.GetReplacedBy()
		}
		rows = append(rows, []string{shortID(i.GetId()), a.out.age(i.GetProposedAt().AsTime()), state, reasonText(i.GetReason()),
			where + oneLine(text)})
	}
	a.out.table([]string{"ITEM", "PROPOSED", "STATE", "REASON", "CHANGE"}, rows)
	first := shortID(r.GetProposals()[0].GetId())
	a.out.printf("Decide: memsidecar review accept %s, or: memsidecar review reject %s\n", first, first)
}

// reviewShow is "review show": FileService.GetProposal.
func (a *app) reviewShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a proposed change with the text before and after",
		Args:  cobra.ExactArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			resp, err := c.files.GetProposal(ctx, &pb.FileServiceGetProposalRequest{Space: a.flags.space, Id: args[0]})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() { a.printReview(resp) })
		}),
	}
}

// printReview prints a proposed change, the present text of the memory if it differs, and how to decide.
func (a *app) printReview(r *pb.FileServiceGetProposalResponse) {
	i := r.GetProposal()
	a.out.fields([][2]string{
		{"item", i.GetId()}, {"state", word(i.GetState())},
		{"proposed", a.when(i.GetProposedAt()) + ", by " + word(i.GetProposedBy())},
		{"session", i.GetSessionId()}, {"reason", reasonText(i.GetReason())}, {"memory", i.GetTargetId()},
		{"replaced by", i.GetReplacedBy()},
		{"decided", a.when(i.GetResolvedAt())},
	})
	a.out.printf("%s\n", a.out.colour(red, "- "+printable(i.GetBefore())))
	if p := i.GetProposed(); p != nil {
		a.out.printf("%s\n", a.out.colour(green, "+ "+printable(p.GetContent())))
	} else {
		a.out.printf("Accepting it retires the memory; you can restore it.\n")
	}
	if slices.Contains([]string{"REVIEW_BOTH_CHANGED", "REVIEW_CHANGED_RETIRED"}, i.GetReason()) {
		a.out.printf("Two machines changed it. All earlier texts of both: memsidecar history %s\n", i.GetTargetId())
	}
	switch {
	case i.GetStale() && r.GetCurrent() == nil:
		a.out.printf("The memory no longer exists. Close this item: memsidecar review reject %s\n", i.GetId())
	case i.GetStale():
		a.out.printf("The memory has changed; its text is now: %s\nClose this item: memsidecar review reject %s\n",
			oneLine(r.GetCurrent().GetContent()), i.GetId())
	case i.GetState() == pb.ProposalState_PROPOSAL_STATE_PENDING:
		a.out.printf("Decide: memsidecar review accept %s, or: memsidecar review reject %s\n", i.GetId(), i.GetId())
	}
}

// reviewResolve is "review accept" or "review reject": FileService.ResolveProposal.
func (a *app) reviewResolve(use, short string, resolution pb.Resolution) *cobra.Command {
	req := &pb.FileServiceResolveProposalRequest{Resolution: resolution}
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1)}
	addWriteFlags(cmd.Flags(), &req.IdempotencyKey, &req.Reason)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
		req.Space, req.Id = a.flags.space, args[0]
		resp, err := c.files.ResolveProposal(ctx, req)
		if err != nil {
			return err
		}
		verb := "Rejected"
		if resolution == pb.Resolution_RESOLUTION_ACCEPT {
			verb = "Accepted; updated"
		}
		return a.written(resp, resp.GetResult(), verb, "Already decided the same way:")
	})
	return cmd
}

// pendingReviews is the status line about proposed changes; it is empty if none is pending.
func (a *app) pendingReviews(ctx context.Context, c *client) string {
	resp, err := listProposals(ctx, c, &pb.FileServiceListProposalsRequest{AllSpaces: true})
	if err != nil || resp.GetPending() == 0 {
		return "" // status must not fail because of this
	}
	return a.out.colour(amber, plural(int64(resp.GetPending()), "proposed change", "proposed changes")+
		" pending; see `memsidecar review list --all-spaces`")
}
