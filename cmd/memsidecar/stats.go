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

func (a *app) statsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count what is stored; stats hot shows what is found most often",
		Args:  cobra.NoArgs,
		RunE: a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
			resp, err := c.memory.Stats(ctx, &pb.MemoryServiceStatsRequest{Spaces: a.spaces()})
			if err != nil {
				return err
			}
			return a.out.result(resp, func() {
				a.printStats(resp)
				a.printJobs(c.info.GetJobs())
			})
		}),
	}
	cmd.AddCommand(a.statsHot())
	return cmd
}

func (a *app) printStats(r *pb.MemoryServiceStatsResponse) {
	fields := [][2]string{
		{"memories", fmt.Sprintf("%d (%s)", r.GetTotal(), counts(r.GetByStatus()))},
		{"by category", counts(r.GetByCategory())},
		{"by source", counts(r.GetBySource())},
		{"average salience", fmt.Sprintf("%.2f", r.GetAverageSalience())},
		{"accesses", itoa(r.GetAccesses())},
		{"sessions", itoa(r.GetSessions())},
		{"logs", fmt.Sprintf("%s, %s", plural(r.GetDays(), "day", "days"), plural(r.GetLogEntries(), "entry", "entries"))},
		{"journal", "position " + itoa(r.GetLsn())},
	}
	if v := vectors(r); v != "" {
		fields = append(fields, [2]string{"vectors", v})
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

// vectors says how far they have come; nothing without an embeddings server.
func vectors(r *pb.MemoryServiceStatsResponse) string {
	var made, waiting, refused int64
	for _, s := range r.GetSpaces() {
		made, waiting, refused = made+s.GetEmbedded(), waiting+s.GetEmbeddingWaiting(), refused+s.GetEmbeddingRefused()
	}
	if made+waiting+refused == 0 {
		return ""
	}
	return fmt.Sprintf("%d made, %d waiting, %d left to words", made, waiting, refused)
}

// short prints a duration with three digits or so.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// counts prints counts by name, largest first.
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

func (a *app) statsHot() *cobra.Command {
	req := &pb.MemoryServiceHotRequest{}
	cmd := &cobra.Command{
		Use:   "hot",
		Short: "List the memories that were found most often",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().Int32Var(&req.Limit, "limit", 20, "most memories")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, _ []string) error {
		req.Space = a.flags.space
		resp, err := c.memory.Hot(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			if len(resp.GetMemories()) == 0 {
				a.out.printf("No memory was found by a search yet%s. Search: memsidecar search \"…\"\n", a.inSpace())
				return
			}
			var rows [][]string
			for _, m := range resp.GetMemories() {
				rows = append(rows, []string{itoa(m.GetAccessCount()), a.out.age(m.GetLastAccessed().AsTime()), m.GetId(), m.GetCategory(), a.summaryLine(m)})
			}
			a.out.table([]string{"FOUND", "LAST", "ID", "CATEGORY", "CONTENT"}, rows)
		})
	})
	return cmd
}
