package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// filterFlags are the flags that select memories.
type filterFlags struct {
	filter                                                 *pb.MemoryFilter
	statuses                                               []string
	pinned                                                 bool
	createdFrom, createdBefore, updatedFrom, updatedBefore string
	all                                                    bool
}

func addFilter(f *pflag.FlagSet) *filterFlags {
	ff := &filterFlags{filter: &pb.MemoryFilter{}}
	f.StringSliceVar(&ff.filter.Categories, "category", nil, "any of these categories")
	f.StringSliceVar(&ff.filter.Tags, "tag", nil, "any of these tags")
	f.StringSliceVar(&ff.filter.Sources, "source", nil, "any of these sources")
	f.StringSliceVar(&ff.statuses, "status", nil, "any of active, superseded, retired (default active)")
	f.BoolVar(&ff.all, "all", false, "in any state")
	f.Float64Var(&ff.filter.MinSalience, "min-salience", 0, "at least this salience")
	f.BoolVar(&ff.pinned, "pinned", false, "only pinned; --pinned=false for only those that are not")
	f.StringVar(&ff.createdFrom, "created-from", "", "created at or after this time")
	f.StringVar(&ff.createdBefore, "created-before", "", "created before this time")
	return ff
}

// filterOf is the filter that the flags ask for.
func (a *app) filterOf(f *pflag.FlagSet, ff *filterFlags) (*pb.MemoryFilter, error) {
	out := ff.filter
	out.Pinned = given(f, "pinned", &ff.pinned)
	if ff.all {
		ff.statuses = words(pb.MemoryStatus(0))
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
	f.StringVar(&order, "order", "", "created, updated, salience or access (default created)")
	f.BoolVar(&req.Ascending, "ascending", false, "smallest or oldest first")
	f.IntVar(&limit, "limit", 50, "most memories; 0 is all")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) (err error) {
		if req.Filter, err = a.filterOf(f, ff); err != nil {
			return err
		}
		if req.Order, err = parseWord[pb.MemoryOrder]("order", order); err != nil {
			return err
		}
		req.Space = a.flags.space
		all, err := listMemories(ctx, c, req, limit)
		if err != nil {
			return err
		}
		return a.out.result(all, func() { a.printMemories(all) })
	})
	return cmd
}

// listMemories reads as many pages as the limit needs.
func listMemories(ctx context.Context, c *client, req *pb.MemoryServiceListRequest, limit int) (*pb.MemoryServiceListResponse, error) {
	all := &pb.MemoryServiceListResponse{}
	for {
		req.PageSize = pageSize(limit, len(all.GetMemories()))
		page, err := c.memory.List(ctx, req)
		if err != nil {
			return nil, err
		}
		all.Memories = append(all.Memories, page.GetMemories()...)
		all.Total, all.NextPageToken = page.GetTotal(), page.GetNextPageToken()
		if all.NextPageToken == "" || limit > 0 && len(all.Memories) >= limit {
			return all, nil
		}
		req.PageToken = all.NextPageToken
	}
}

// pageSize is how many to ask for when have of limit are there; limit 0 is without end.
func pageSize(limit, have int) int32 {
	if limit <= 0 {
		return memory.MaxPage
	}
	return int32(min(limit-have, memory.MaxPage))
}

func (a *app) printMemories(r *pb.MemoryServiceListResponse) {
	if len(r.GetMemories()) == 0 {
		a.out.printf("No memories yet%s. Add one: memsidecar add \"Prefers small commits\" --category preferences\n", a.inSpace())
		return
	}
	var rows [][]string
	for _, m := range r.GetMemories() {
		rows = append(rows, []string{m.GetId(), m.GetCategory(), number(m.GetSalience()), a.out.age(m.GetCreatedAt().AsTime()), a.summaryLine(m)})
	}
	a.out.table([]string{"ID", "CATEGORY", "SALIENCE", "CREATED", "CONTENT"}, rows)
	if n := int64(len(rows)); n < int64(r.GetTotal()) {
		a.out.printf("%d of %s; --limit 0 shows all.\n", n, plural(int64(r.GetTotal()), "memory", "memories"))
	}
}

// inSpace names the space in a sentence when it is not the default one.
func (a *app) inSpace() string {
	if a.flags.space == "" {
		return ""
	}
	return " in space " + a.flags.space
}

// summaryLine is a memory on one line.
func (a *app) summaryLine(m *pb.Memory) string {
	var marks []string
	if m.GetPinned() {
		marks = append(marks, "[pinned]")
	}
	if s := word(m.GetStatus()); s != "active" {
		marks = append(marks, "["+s+"]")
	}
	if m.GetTitle() != "" {
		marks = append(marks, oneLine(m.GetTitle())+":")
	}
	return strings.Join(append(marks, oneLine(m.GetContent())), " ")
}
