package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// filterFlags are the flags that filter memories, shared by list and search.
type filterFlags struct {
	filter                                                 *pb.MemoryFilter
	statuses                                               []string
	pinned                                                 bool
	createdFrom, createdBefore, updatedFrom, updatedBefore string
	all                                                    bool
}

// addFilter adds the filter flags of list and search.
func addFilter(f *pflag.FlagSet) *filterFlags {
	ff := &filterFlags{filter: &pb.MemoryFilter{}}
	f.StringSliceVar(&ff.filter.Categories, "category", nil, "only these categories")
	f.StringSliceVar(&ff.filter.Tags, "tag", nil, "only memories with any of these tags")
	f.StringSliceVar(&ff.filter.Sources, "source", nil, "only these sources")
	f.StringSliceVar(&ff.statuses, "status", nil, "only these states: active, superseded, retired (default active)")
	f.BoolVar(&ff.all, "all", false, "include superseded and retired memories")
	f.Float64Var(&ff.filter.MinSalience, "min-salience", 0, "minimum salience")
	f.BoolVar(&ff.pinned, "pinned", false, "only pinned memories; --pinned=false for the others")
	f.StringVar(&ff.createdFrom, "created-from", "", "created at or after this time")
	f.StringVar(&ff.createdBefore, "created-before", "", "created before this time")
	return ff
}

// filterOf builds the filter from the flags.
func (a *app) filterOf(f *pflag.FlagSet, ff *filterFlags) (*pb.MemoryFilter, error) {
	out := ff.filter
	out.Pinned = given(f, "pinned", &ff.pinned)
	if ff.all {
		ff.statuses = words(pb.MemoryStatus(0))
	}
	for i, c := range out.Categories { // categories are in lower case
		out.Categories[i] = strings.ToLower(c)
	}
	for _, s := range ff.statuses {
		status, err := parseWord[pb.MemoryStatus]("status", s)
		if err != nil {
			return nil, err
		}
		out.Statuses = append(out.Statuses, status)
	}
	var err error
	if out.CreatedFrom, err = a.instant("created-from", ff.createdFrom); err != nil {
		return nil, err
	}
	if out.CreatedBefore, err = a.instant("created-before", ff.createdBefore); err != nil {
		return nil, err
	}
	if out.UpdatedFrom, err = a.instant("updated-from", ff.updatedFrom); err != nil {
		return nil, err
	}
	out.UpdatedBefore, err = a.instant("updated-before", ff.updatedBefore)
	return out, err
}

// listCommand is "list": MemoryService.List.
func (a *app) listCommand() *cobra.Command {
	req := &pb.MemoryServiceListRequest{}
	var order string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List memories",
		Example: `  memsidecar list --category procedural --order access
  memsidecar list --status retired`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	ff := addFilter(f)
	f.StringVar(&ff.updatedFrom, "updated-from", "", "changed at or after this time")
	f.StringVar(&ff.updatedBefore, "updated-before", "", "changed before this time")
	f.StringVar(&order, "order", "", "sort by created, updated, salience or access (default created)")
	f.BoolVar(&req.Ascending, "ascending", false, "smallest or oldest first")
	f.IntVar(&limit, "limit", 50, "maximum number of memories; 0 for all")
	addMinPositions(f, &req.MinPositions)
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) (err error) {
		if req.Filter, err = a.filterOf(f, ff); err != nil {
			return err
		}
		if limit < 0 {
			return usagef("--limit is %d; it must be 0 (all) or more", limit)
		}
		if req.Order, err = parseWord[pb.MemoryOrder]("order", order); err != nil {
			return err
		}
		req.Space = a.flags.space
		all, err := listMemories(ctx, c, req, limit)
		if err != nil {
			return err
		}
		return a.out.result(all, func() { a.printMemories(all, filtersGiven(f)) })
	})
	return cmd
}

// filtersGiven reports whether a flag that leaves memories out was given.
func filtersGiven(f *pflag.FlagSet) (given bool) {
	f.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "order", "ascending", "limit", "space", "json", "data", "socket", "config", "no-start", "timeout", "all", "min-position":
		default:
			given = true
		}
	})
	return given
}

// listMemories reads pages until limit memories are there; limit 0 reads all.
func listMemories(ctx context.Context, c *client, req *pb.MemoryServiceListRequest,
	limit int) (*pb.MemoryServiceListResponse, error) {
	all := &pb.MemoryServiceListResponse{}
	for {
		req.PageSize = pageSize(limit, len(all.GetMemories()))
		page, err := c.memory.List(ctx, req)
		if err != nil {
			return nil, err
		}
		all.Memories, all.Positions = append(all.Memories, page.GetMemories()...), page.GetPositions()
		all.Total, all.NextPageToken = page.GetTotal(), page.GetNextPageToken()
		if all.NextPageToken == "" || limit > 0 && len(all.Memories) >= limit {
			return all, nil
		}
		req.PageToken = all.NextPageToken
	}
}

// pageSize is the size of the next page when have of limit items are there; limit 0 means no limit.
func pageSize(limit, have int) int32 {
	if limit <= 0 {
		return memory.MaxPage
	}
	return int32(min(limit-have, memory.MaxPage))
}

// nextPage is the token to go on with, or "" if have items reach the limit; limit 0 means no limit.
func nextPage(limit, have int, token string) string {
	if limit > 0 && have >= limit {
		return ""
	}
	return token
}

// printMemories prints memories as a table. filtered says that there may be others.
func (a *app) printMemories(r *pb.MemoryServiceListResponse, filtered bool) {
	if len(r.GetMemories()) == 0 && filtered {
		a.out.printf("No memory%s matches these filters. \"memsidecar memory stats\" counts memories by category.\n",
			a.inSpace())
		return
	}
	if len(r.GetMemories()) == 0 {
		a.out.printf("No memories yet%s. Add one: memsidecar add \"Prefers small commits\" --category preferences\n",
			a.inSpace())
		return
	}
	var rows [][]string
	for _, m := range r.GetMemories() {
		rows = append(rows, []string{shortID(m.GetId()), m.GetCategory(), number(m.GetSalience()),
			a.out.knownFor(m), a.summaryLine(m)})
	}
	a.out.table([]string{"ID", "CATEGORY", "SALIENCE", "AGE", "CONTENT"}, rows)
	if n := int64(len(rows)); n < int64(r.GetTotal()) {
		a.out.printf("%d of %s; --limit 0 shows all.\n", n, plural(int64(r.GetTotal()), "memory", "memories"))
	}
}

// inSpace is " in space X", or empty for the default space.
func (a *app) inSpace() string {
	if a.flags.space == "" {
		return ""
	}
	return " in space " + a.flags.space
}

// summaryLine is a memory on one line: marks, title and text.
func (a *app) summaryLine(m *pb.Memory) string {
	var marks []string
	if m.GetPinned() {
		marks = append(marks, "[pinned]")
	}
	if s := word(m.GetStatus()); s != "active" {
		marks = append(marks, "["+s+"]")
	}
	if m.GetTitle() != "" && !strings.HasPrefix(m.GetContent(), m.GetTitle()) { // a text may begin with its title
		marks = append(marks, oneLine(m.GetTitle())+":")
	}
	return strings.Join(append(marks, oneLine(m.GetContent())), " ")
}
