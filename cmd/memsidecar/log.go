package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Daily logs: add, get, list, restore",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.groupRun,
	}
	cmd.AddCommand(a.logAdd(), a.logGet(), a.logList(), a.logRestore())
	return cmd
}

func (a *app) logAdd() *cobra.Command {
	e := &pb.NewLogEntry{}
	req := &pb.LogServiceAppendRequest{Entries: []*pb.NewLogEntry{e}}
	var at string
	cmd := &cobra.Command{
		Use:     "add TEXT|-",
		Short:   "Write an entry into the log of its day",
		Example: `  memsidecar log add "Finished the API docs" --at "2026-02-21 14:30"`,
		Args:    cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&at, "at", "", "when it happened (default now)")
	f.StringVar(&e.Type, "type", "", "event, reflection, tool_failure, correction or another slug (default \"event\")")
	f.StringVar(&e.Category, "category", "", "a category")
	f.StringVar(&e.Tool, "tool", "", "name of the tool concerned")
	f.StringVar(&e.Error, "error", "", "what went wrong")
	f.StringVar(&req.Session, "session", "", "session that it belongs to")
	f.StringVar(&req.IdempotencyKey, "key", "", "idempotency key")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if e.Content, err = a.text(args[0]); err != nil {
			return err
		}
		if e.At, err = a.instant("at", at); err != nil {
			return err
		}
		req.Space = a.flags.space
		resp, err := c.logs.Append(ctx, req)
		if err != nil {
			return err
		}
		return a.written(resp, resp.GetResult(), "Logged", "Logged already:")
	})
	return cmd
}

func (a *app) logGet() *cobra.Command {
	return &cobra.Command{
		Use:     "get [DATE]",
		Aliases: []string{"show"},
		Short:   "Show the log of a day, or what is left of it; without a date of today",
		Args:    cobra.MaximumNArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			resp, err := c.logs.Get(ctx, &pb.LogServiceGetRequest{Space: a.flags.space, Date: strings.Join(args, "")})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() { a.printLog(resp) })
		}),
	}
}

func (a *app) printLog(r *pb.LogServiceGetResponse) {
	d := r.GetDay()
	head := d.GetDate()
	records := r.GetArchived()
	deleted := len(r.GetEntries()) == 0 && len(records) > 0 && records[len(records)-1].GetDeletedAt() != nil
	switch {
	case deleted:
		head += "  (archived and deleted)"
	case d.GetArchived():
		head += "  (archived)"
	}
	a.out.printf("%s\n", a.out.colour(bold, head))
	if d.GetSummary() != "" {
		a.out.printf("Summary: %s\n", printable(d.GetSummary()))
	}
	a.printArchived(records)
	if deleted {
		a.out.printf("Bring it back: memsidecar log restore %s\n", d.GetDate())
		return
	}
	if len(r.GetEntries()) == 0 {
		a.out.printf("No entries. Write one: memsidecar log add \"What happened\"\n")
		return
	}
	for _, e := range r.GetEntries() {
		what := printable(e.GetContent())
		if e.GetTool() != "" {
			what += "  " + a.out.colour(dim, "["+oneLine(e.GetTool())+"]")
		}
		if e.GetError() != "" {
			what += "  " + a.out.colour(red, oneLine(e.GetError()))
		}
		a.out.printf("%s  %s  %s\n", e.GetTime(), a.out.colour(dim, e.GetType()), what)
	}
}

func (a *app) logList() *cobra.Command {
	req := &pb.LogServiceListRequest{IncludeDeleted: true}
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the days that have or had a log, newest first",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().StringVar(&req.From, "from", "", "oldest date")
	cmd.Flags().StringVar(&req.To, "to", "", "newest date")
	cmd.Flags().IntVar(&limit, "limit", 50, "most days; 0 is all")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		req.Space = a.flags.space
		all := &pb.LogServiceListResponse{}
		for {
			req.PageSize = pageSize(limit, len(all.GetDays()))
			page, err := c.logs.List(ctx, req)
			if err != nil {
				return err
			}
			all.Days = append(all.Days, page.GetDays()...)
			all.NextPageToken = page.GetNextPageToken()
			if all.NextPageToken == "" || limit > 0 && len(all.Days) >= limit {
				break
			}
			req.PageToken = all.NextPageToken
		}
		return a.out.result(all, func() { a.printDays(all) })
	})
	return cmd
}

func (a *app) printDays(r *pb.LogServiceListResponse) {
	if len(r.GetDays()) == 0 {
		a.out.printf("No logs yet%s. Write an entry: memsidecar log add \"What happened\"\n", a.inSpace())
		return
	}
	var rows [][]string
	for _, d := range r.GetDays() {
		archived := ""
		switch {
		case d.GetDeletedAt() != nil:
			archived = "deleted"
		case d.GetArchived():
			archived = "yes"
		}
		rows = append(rows, []string{d.GetDate(), itoa(int64(d.GetEntryCount())), archived, oneLine(d.GetSummary())})
	}
	a.out.table([]string{"DATE", "ENTRIES", "ARCHIVED", "SUMMARY"}, rows)
	if r.GetNextPageToken() != "" {
		a.out.printf("There are more; --limit 0 shows all.\n")
	}
}
