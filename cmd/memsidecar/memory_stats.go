package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

// statsCommand is "memory stats": MemoryService.Stats.
func (a *app) statsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Show statistics of memories, logs, sessions and calls",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			var resp *pb.MemoryServiceStatsResponse
			err := eachPage(func(token string) (string, error) {
				page, err := c.memory.Stats(ctx, &pb.MemoryServiceStatsRequest{Spaces: a.spaces(), PageToken: token})
				if resp == nil {
					resp = page
				} else {
					resp.Spaces = append(resp.Spaces, page.GetSpaces()...)
				}
				return page.GetNextPageToken(), err
			})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() {
				a.printStats(resp)
				a.printJobs(c.info.GetJobs())
			})
		}),
	}
}

// printStats prints totals, spaces and latencies.
func (a *app) printStats(r *pb.MemoryServiceStatsResponse) {
	fields := [][2]string{
		{"memories", fmt.Sprintf("%d (%s)", r.GetTotal(), counts(map[string]int64{
			"active": r.GetActive(), "superseded": r.GetSuperseded(), "retired": r.GetRetired(),
		}))},
		{"by category", counts(r.GetByCategory())},
		{"by source", counts(r.GetBySource())},
		{"average salience", fmt.Sprintf("%.2f", r.GetAverageSalience())},
		{"accesses", itoa(r.GetAccesses())},
		{"sessions", itoa(r.GetSessions())},
		{"logs", fmt.Sprintf("%s, %s", plural(r.GetDays(), "day", "days"),
			plural(r.GetLogEntries(), "entry", "entries"))},
		{"journal", "position " + r.GetPosition()},
	}
	if v := vectors(r); v != "" {
		fields = append(fields, [2]string{"vectors", v}, [2]string{"queries", fmt.Sprintf(
			"%d sure by words; %d of %d query vectors from the cache", r.GetSearchesSureByWords(), r.GetQueryVectorHits(),
			r.GetQueryVectorLookups())})
	}
	a.out.fields(fields)
	if len(r.GetSpaces()) > 1 {
		var rows [][]string
		for _, s := range r.GetSpaces() {
			rows = append(rows, []string{s.GetName(), itoa(s.GetActive()), itoa(s.GetTotal()), itoa(s.GetRevision())})
		}
		a.out.printf("\n")
		a.out.table([]string{"SPACE", "ACTIVE", "TOTAL", "REVISION"}, rows)
	}
	if len(r.GetLatencies()) > 0 {
		var rows [][]string
		for _, l := range r.GetLatencies() {
			rows = append(rows, []string{strings.TrimPrefix(l.GetMethod(), "/memsidecar.v1."), itoa(l.GetCount()),
				short(l.GetP50().AsDuration()), short(l.GetP99().AsDuration())})
		}
		a.out.printf("\n")
		a.out.table([]string{"CALL", "COUNT", "P50", "P99"}, rows)
	}
}

// vectors describes the progress of embedding; it is empty if no model is configured.
func vectors(r *pb.MemoryServiceStatsResponse) string {
	var made, waiting, refused int64
	for _, s := range r.GetSpaces() {
		made, waiting, refused = made+s.GetEmbedded(), waiting+s.GetEmbeddingPending(), refused+s.GetEmbeddingRefused()
	}
	if made+waiting+refused == 0 {
		return ""
	}
	return fmt.Sprintf("%d embedded, %d pending, %d not embeddable", made, waiting, refused)
}

// short formats a duration with about three digits.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// counts formats counts by name, largest first.
func counts(m map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if m[a] != m[b] {
			return int(m[b] - m[a])
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, n := range names {
		if m[n] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", m[n], n))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// hotCommand is "memory hot": SearchService.Hot.
func (a *app) hotCommand() *cobra.Command {
	req := &pb.SearchServiceHotRequest{}
	var limit int
	cmd := &cobra.Command{
		Use:   "hot",
		Short: "List the most frequently accessed memories",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "maximum number of memories; 0 for all")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		req.Space = a.flags.space
		resp := &pb.SearchServiceHotResponse{}
		err := eachPage(func(token string) (string, error) {
			req.PageToken, req.PageSize = token, pageSize(limit, len(resp.GetMemories()))
			page, err := c.search.Hot(ctx, req)
			resp.Memories = append(resp.Memories, page.GetMemories()...)
			return nextPage(limit, len(resp.GetMemories()), page.GetNextPageToken()), err
		})
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			if len(resp.GetMemories()) == 0 {
				a.out.printf("No memory has been accessed yet%s. Search: memsidecar search \"…\"\n", a.inSpace())
				return
			}
			var rows [][]string
			for _, m := range resp.GetMemories() {
				rows = append(rows, []string{itoa(m.GetAccessCount()), a.out.age(m.GetLastAccessed().AsTime()),
					shortID(m.GetId()), m.GetCategory(), a.summaryLine(m)})
			}
			a.out.table([]string{"ACCESSES", "LAST", "ID", "CATEGORY", "CONTENT"}, rows)
		})
	})
	return cmd
}
