package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
)

func (a *app) searchCommand() *cobra.Command {
	req := &pb.SearchServiceSearchRequest{}
	var profile, arm, asOf string
	var noTouch, decay bool
	var sessions []string
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find memories, in English or Chinese",
		Long: `Find memories. What does not fit is left out: nothing is a possible result.

Profiles: balanced lets relevance decide; product is similarity × salience × decay; weighted is 0.6 similarity + 0.2 decay +
0.2 importance; overlap counts words; recent puts the newest first.`,
		Example: `  memsidecar search "how do I like my commits"
  memsidecar search 注释用什么语言 --explain
  memsidecar search deadline --space work,home --profile recent
  memsidecar search "why did the backup fail" --logs --created-from 2026-02-01`,
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	ff := addFilter(f)
	f.Int32Var(&req.K, "k", 10, "most results, 1 to 200")
	f.StringVar(&profile, "profile", "", "balanced, product, weighted, overlap or recent (default balanced)")
	f.StringVar(&arm, "arm", "", "keyword, fusion or vector (default fusion, which goes by words without an embeddings server)")
	f.BoolVar(&req.Explain, "explain", false, "show what each score is made of")
	f.StringVar(&asOf, "as-of", "", "answer as at this time: what came later is not found")
	f.BoolVar(&noTouch, "no-touch", false, "do not count this as an access")
	f.BoolVar(&decay, "decay", true, "let the time since the last access count")
	f.Float64Var(&req.MinScore, "min-score", 0, "leave out lower scores")
	f.StringVar(&ff.updatedFrom, "updated-from", "", "changed at or after this time")
	f.StringVar(&ff.updatedBefore, "updated-before", "", "changed before this time")
	f.BoolVar(&req.IncludeLogs, "logs", false, "look through the daily logs too: newest entries, and summaries of archived days")
	f.StringSliceVar(&sessions, "session", nil, "learnt in any of these sessions")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		filter, err := a.filterOf(f, ff)
		if err != nil {
			return err
		}
		req.Filter = &pb.SearchFilter{
			Categories: filter.GetCategories(), Tags: filter.GetTags(), Sources: filter.GetSources(), Statuses: filter.GetStatuses(),
			MinSalience: filter.GetMinSalience(), Pinned: filter.Pinned, Sessions: sessions,
			CreatedFrom: filter.GetCreatedFrom(), CreatedBefore: filter.GetCreatedBefore(),
			UpdatedFrom: filter.GetUpdatedFrom(), UpdatedBefore: filter.GetUpdatedBefore(),
		}
		if req.Profile, err = parseWord[pb.RankingProfile]("profile", profile); err != nil {
			return err
		}
		if req.Arm, err = parseWord[pb.SearchArm]("arm", arm); err != nil {
			return err
		}
		if req.AsOf, err = a.instant("as-of", asOf); err != nil {
			return err
		}
		req.Spaces, req.Query = a.spaces(), strings.Join(args, " ")
		req.UseDecay = given(f, "decay", &decay)
		if noTouch {
			req.Touch = new(false)
		}
		resp, err := c.search.Search(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() { a.printHits(resp, len(req.Spaces) > 1) })
	})
	return cmd
}

func (a *app) printHits(r *pb.SearchServiceSearchResponse, spaces bool) {
	if len(r.GetHits()) == 0 {
		a.out.printf("%s\n", nothingFound(r))
		return
	}
	heading := []string{"SCORE", "ID", "CATEGORY", "CREATED", "CONTENT"}
	if spaces {
		heading = []string{"SCORE", "SPACE", "ID", "CATEGORY", "CREATED", "CONTENT"}
	}
	var rows [][]string
	for _, h := range r.GetHits() {
		row := []string{fmt.Sprintf("%.3f", h.GetScore())}
		if spaces {
			row = append(row, h.GetSpace())
		}
		rows = append(rows, append(row, a.hitColumns(h)...))
	}
	a.out.table(heading, rows)
	if r.GetLogsFrom() != "" {
		a.out.printf("\nOf days before %s only summaries were looked through. Name older ones with --created-before.\n", r.GetLogsFrom())
	}
	for i, h := range r.GetHits() {
		if len(h.GetComponents()) == 0 {
			continue
		}
		if i == 0 {
			a.out.printf("\n")
		}
		var parts []string
		for _, p := range h.GetComponents() {
			parts = append(parts, fmt.Sprintf("%s %.3f", p.GetName(), p.GetValue()))
		}
		a.out.printf("%s  %.3f = %s\n", hitID(h), h.GetScore(), strings.Join(parts, ", "))
	}
}

// hitColumns are id, category, age and text of a hit. A text of a log has its date and id, and is marked as what it is.
func (a *app) hitColumns(h *pb.SearchHit) []string {
	l, m := h.GetLog(), h.GetMemory()
	switch {
	case l == nil:
		return []string{m.GetId(), m.GetCategory(), a.out.age(m.GetCreatedAt().AsTime()), a.summaryLine(m)}
	case l.GetEntry() == nil:
		mark := "[summary of the day]"
		if l.GetDeleted() {
			mark = "[summary of the day, whose log was deleted]"
		}
		return []string{hitID(h), "log", l.GetDate(), mark + " " + oneLine(l.GetSummary())}
	}
	e := l.GetEntry()
	text := "[log: " + e.GetType() + "] " + oneLine(e.GetContent())
	if e.GetError() != "" {
		text += " [error: " + oneLine(e.GetError()) + "]"
	}
	return []string{hitID(h), "log", l.GetDate() + " " + e.GetTime(), text}
}

// hitID names a hit: a memory by its id, a text of a log by its date and, if it is an entry, the entry's id.
func hitID(h *pb.SearchHit) string {
	l := h.GetLog()
	if l.GetEntry() != nil {
		return l.GetDate() + "/" + l.GetEntry().GetId()
	}
	return cmp.Or(l.GetDate(), h.GetMemory().GetId())
}

// nothingFound says why there are no results and what may help.
func nothingFound(r *pb.SearchServiceSearchResponse) string {
	switch r.GetReason() {
	case "NO_TERMS":
		return "The query holds no word to look for. Use more particular words."
	case "WEAK":
		return "Nothing fits well enough to rely on. Use more particular words, or look through \"memsidecar list\"."
	case "FILTERED":
		return "Nothing fits that is active and within the filters. With --all, what was superseded or forgotten is searched too."
	case "NO_VECTORS":
		return "There is nothing to compare by meaning: no embeddings server is configured, it does not answer, or it has not come to these memories yet. \"memsidecar doctor\" knows."
	case "MIN_SCORE":
		return "What fits has a lower score than --min-score."
	}
	return "Nothing fits. Other words may; \"memsidecar list\" shows what there is."
}
