package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// logCommand groups the commands on daily logs.
func (a *app) logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Write, read and archive daily logs",
		Example: `  memsidecar log add "Finished the API docs"
  memsidecar log get
  memsidecar log archive --dry-run`,
		Args: cobra.ArbitraryArgs,
		RunE: a.groupRun,
	}
	cmd.AddCommand(a.logAdd(), a.logGet(), a.logList(), a.logRestore(), a.archiveCommand())
	return cmd
}

// logAdd is "log add": LogService.Append.
func (a *app) logAdd() *cobra.Command {
	e := &pb.NewLogEntry{}
	req := &pb.LogServiceAppendRequest{Entries: []*pb.NewLogEntry{e}}
	var at string
	cmd := &cobra.Command{
		Use:     "add TEXT|-",
		Short:   "Add an entry to a daily log",
		Example: `  memsidecar log add "Finished the API docs" --at "2026-02-21 14:30"`,
		Args:    cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&at, "at", "", "time of the event (default now)")
	f.StringVar(&e.Type, "type", "", "event, reflection, tool_failure, correction or another slug (default \"event\")")
	f.StringVar(&e.Category, "category", "", "category")
	f.StringVar(&e.Tool, "tool", "", "name of the tool")
	f.StringVar(&e.Error, "error", "", "error message")
	f.StringVar(&req.SessionId, "session", "", "session to record with the entry")
	addKeepFlag(f, &req.AllowSensitive)
	addWriteFlags(f, &req.IdempotencyKey, nil)
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
		return a.written(resp, resp.GetResult(), "Logged", "Already logged:")
	})
	return cmd
}

// logGet is "log get": LogService.Get. It also has the name show.
func (a *app) logGet() *cobra.Command {
	return &cobra.Command{
		Use:     "get [DATE]",
		Aliases: []string{"show"},
		Short:   "Show the log of a day (default today)",
		Args:    cobra.MaximumNArgs(1),
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) error {
			resp, err := getLog(ctx, c, a.flags.space, a.day(strings.Join(args, "")))
			if err != nil {
				return err
			}
			return a.out.result(resp, func() { a.printLog(resp) })
		}),
	}
}

// day turns today and yesterday into dates and leaves everything else.
func (a *app) day(date string) string {
	switch date {
	case "today":
		return a.now().Format(time.DateOnly)
	case "yesterday":
		return a.now().AddDate(0, 0, -1).Format(time.DateOnly)
	}
	return date
}

// getLog reads all pages of the log of a day; an empty date is today.
func getLog(ctx context.Context, c *client, space, date string) (*pb.LogServiceGetResponse, error) {
	var all *pb.LogServiceGetResponse
	err := eachPage(func(token string) (string, error) {
		page, err := c.logs.Get(ctx, &pb.LogServiceGetRequest{Space: space, Date: date, PageToken: token})
		switch {
		case err != nil:
			return "", err
		case all == nil:
			all = page
		default:
			all.Entries = append(all.Entries, page.GetEntries()...)
		}
		return page.GetNextPageToken(), nil
	})
	if all != nil {
		all.NextPageToken = ""
	}
	return all, err
}

// printLog prints a day with its entries, or what remains of an archived and deleted log.
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
		a.out.printf("Restore it: memsidecar log restore %s\n", d.GetDate())
		return
	}
	if len(r.GetEntries()) == 0 {
		a.out.printf("No entries. Add one: memsidecar log add \"What happened\"\n")
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

// logList is "log list": LogService.List.
func (a *app) logList() *cobra.Command {
	req := &pb.LogServiceListRequest{IncludeDeleted: true}
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List daily logs, including deleted ones, newest first",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().StringVar(&req.StartDate, "from", "", "oldest date")
	cmd.Flags().StringVar(&req.EndDate, "to", "", "newest date")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of days; 0 for all")
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

// printDays prints days as a table.
func (a *app) printDays(r *pb.LogServiceListResponse) {
	if len(r.GetDays()) == 0 {
		a.out.printf("No logs yet%s. Add an entry: memsidecar log add \"What happened\"\n", a.inSpace())
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
		a.out.printf("More logs exist; --limit 0 shows all.\n")
	}
}
