package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/memsidecar/memsidecar/gen/memsidecar/v1"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// searchCommand is "search": SearchService.Search.
func (a *app) searchCommand() *cobra.Command {
	req := &pb.SearchServiceSearchRequest{}
	var profile, arm, asOf string
	var sessions []string
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search memories in English or Chinese",
		Long: `Search memories. What is nothing like the query is omitted; the result may be empty.

STRENGTH says how likely a memory is to be relevant: strong, fair or weak. Weak matches
are printed last, below a line that says so; most of them are not relevant. Without
embeddings there is no strength.

Ranking profiles:
  balanced  relevance first, then salience and age
  product   similarity × salience × decay
  weighted  0.6 similarity + 0.2 decay + 0.2 importance
  overlap   number of shared words
  recent    newest first

With --mirror the memories are not searched here but in PostgreSQL, in the tables that "memsidecar share vectors"
keeps: all spaces that the user of the database may read, or those named by --space, also those that no machine could
hold together. Their names are those in the database. --with or MEMSIDECAR_SHARE_URL names it; without them it is that
of the spaces that are shared here.`,
		Example: `  memsidecar search "how do I like my commits"
  memsidecar search 注释用什么语言 --explain
  memsidecar search deadline --space work,home --profile recent
  memsidecar search "why did the backup fail" --logs --created-from 2026-02-01
  memsidecar search "who runs the release" --mirror --with postgres://bob@db.example.com/memories`,
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	ff := addFilter(f)
	f.Int32VarP(&req.Limit, "limit", "k", 0, "maximum number of results, 1 to 200 (default 5, with --profile weighted 10)")
	f.StringVar(&profile, "profile", "", "ranking profile: balanced, product, weighted, overlap or recent (default "+
		"balanced)")
	f.StringVar(&arm, "arm", "", "retrieval: keyword, vector, or fusion of both (default fusion)")
	f.BoolVar(&req.Explain, "explain", false, "show the components of each score")
	f.StringVar(&asOf, "as-of", "", "search the state at this time; later memories are not found")
	f.BoolVar(&req.NoTouch, "no-touch", false, "do not count this search as an access")
	f.BoolVar(&req.IgnoreAccessAge, "ignore-access-age", false, "ignore the time since the last access in scores")
	f.Float64Var(&req.MinScore, "min-score", 0, "minimum score")
	f.StringVar(&ff.updatedFrom, "updated-from", "", "changed at or after this time")
	f.StringVar(&ff.updatedBefore, "updated-before", "", "changed before this time")
	f.BoolVar(&req.IncludeLogs, "logs", false,
		"also search the daily logs: recent entries, and summaries of archived days")
	f.BoolVar(&req.WaitIndexed, "wait-indexed", false,
		"first wait until every memory can be found by meaning, up to --timeout")
	f.BoolVar(&req.Mirror, "mirror", false, "search the tables of shared spaces in PostgreSQL instead (see above)")
	f.StringVar(&req.MirrorUrl, "with", "", "with --mirror: database, as a `URL` or connection string (default: $"+
		shareURLVariable+", or that of the shared spaces)")
	addMinPositions(f, &req.MinPositions)
	f.StringSliceVar(&sessions, "session", nil, "only memories learned in these sessions")
	cmd.RunE = a.withClient(func(ctx context.Context, c *client, _ *cobra.Command, args []string) (err error) {
		if req.Filter, err = a.filterOf(f, ff); err != nil {
			return err
		}
		req.Filter.SessionIds = sessions
		if req.Profile, err = parseWord[pb.RankingProfile]("profile", profile); err != nil {
			return err
		}
		if req.Arm, err = parseWord[pb.SearchArm]("arm", arm); err != nil {
			return err
		}
		if req.AsOf, err = a.instant("as-of", asOf); err != nil {
			return err
		}
		if req.Mirror && req.MirrorUrl == "" {
			req.MirrorUrl = a.env(shareURLVariable)
		}
		req.Spaces, req.Query = a.spaces(), strings.Join(args, " ")
		resp, err := c.search.Search(ctx, req)
		if err != nil {
			return err
		}
		return a.out.result(resp, func() {
			if len(resp.GetHits()) == 0 {
				a.out.printf("%s\n", cmp.Or(a.unusedCategories(ctx, c, req), nothingFound(resp)))
				return
			}
			a.printHits(resp, len(req.Spaces) > 1 || req.GetMirror())
		})
	})
	return cmd
}

// unusedCategories says that no memory has the categories searched, or is "".
func (a *app) unusedCategories(ctx context.Context, c *client, req *pb.SearchServiceSearchRequest) string {
	categories := req.GetFilter().GetCategories()
	if len(categories) == 0 || len(req.GetFilter().GetStatuses()) > 0 || req.GetIncludeLogs() || req.GetMirror() {
		return ""
	}
	spaces := req.GetSpaces()
	if len(spaces) == 0 {
		spaces = []string{memory.DefaultSpace}
	}
	stats, err := c.memory.Stats(ctx, &pb.MemoryServiceStatsRequest{Spaces: spaces})
	if err != nil { // the search itself has answered
		return ""
	}
	for _, name := range categories {
		if stats.GetByCategory()[name] > 0 {
			return ""
		}
	}
	return fmt.Sprintf("No active memory%s has the category %s. \"memsidecar memory stats\" counts memories by category; "+
		"--all includes superseded and retired ones.", a.inSpace(), strings.Join(categories, " or "))
}

// printHits prints hits as a table, with the components of their scores if they are there.
func (a *app) printHits(r *pb.SearchServiceSearchResponse, spaces bool) {
	var good, weak []*pb.SearchHit
	for _, h := range r.GetHits() {
		if h.GetStrength() == pb.HitStrength_HIT_STRENGTH_WEAK {
			weak = append(weak, h)
		} else {
			good = append(good, h)
		}
	}
	a.printHitTable(good, spaces)
	if len(weak) > 0 {
		a.out.printf("%s\n", weakHeading(len(good)))
		a.printHitTable(weak, spaces)
	}
	if r.GetLogsStartDate() != "" {
		a.out.printf("\nFor days before %s only summaries were searched. Use --created-before to search older "+
			"entries.\n", r.GetLogsStartDate())
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

// weakHeading is the line above weak hits.
func weakHeading(better int) string {
	if better == 0 {
		return "No good match. Weak matches, most likely not relevant:"
	}
	return "\nWeak matches, most likely not relevant:"
}

// printHitTable prints one row for each hit.
func (a *app) printHitTable(hits []*pb.SearchHit, spaces bool) {
	if len(hits) == 0 {
		return
	}
	heading := []string{"SCORE", "STRENGTH"}
	if spaces {
		heading = append(heading, "SPACE")
	}
	var rows [][]string
	for _, h := range hits {
		// Without a grade the score is all there is: words alone decided, or it is a log.
		row := []string{fmt.Sprintf("%.3f", h.GetScore()), cmp.Or(optionalWord(h.GetStrength()), "-")}
		if spaces {
			row = append(row, h.GetSpace())
		}
		rows = append(rows, append(row, a.hitColumns(h)...))
	}
	a.out.table(append(heading, "ID", "CATEGORY", "AGE", "CONTENT"), rows)
}

// hitColumns are the id, category, age and text of a hit. A hit in a daily log shows its date, and a mark before its
// text.
func (a *app) hitColumns(h *pb.SearchHit) []string {
	l, m := h.GetLog(), h.GetMemory()
	switch {
	case l == nil:
		return []string{shortID(m.GetId()), m.GetCategory(), a.out.knownFor(m), a.summaryLine(m)}
	case l.GetEntry() == nil:
		mark := "[summary of the day]"
		if l.GetDeleted() {
			mark = "[summary of a deleted log]"
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

// hitID is the id of a memory, DATE/ENTRY for a log entry, or DATE for the summary of a day.
func hitID(h *pb.SearchHit) string {
	l := h.GetLog()
	if l.GetEntry() != nil {
		return l.GetDate() + "/" + shortID(l.GetEntry().GetId())
	}
	return cmp.Or(l.GetDate(), h.GetMemory().GetId())
}

// nothingFound explains an empty result and suggests what to try.
func nothingFound(r *pb.SearchServiceSearchResponse) string {
	switch r.GetReason() {
	case "NO_TERMS":
		return "The query contains no searchable words. Use more specific words."
	case "WEAK":
		return "No match is relevant enough. Use more specific words, or run \"memsidecar list\"."
	case "FILTERED":
		return "No active memory matches within the filters. Use --all to include superseded and retired memories."
	case "NO_VECTORS":
		return "Vector search is unavailable, or these memories are not embedded yet. See \"memsidecar doctor\"."
	case "MIN_SCORE":
		return "All matches score below --min-score."
	}
	return "No matches. Try other words, or run \"memsidecar list\"."
}
