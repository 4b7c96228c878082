package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// report is what a run found.
type report struct {
	Profile string        `json:"profile"`
	Half    string        `json:"half,omitempty"`
	Sets    []row         `json:"sets"`
	Macro   row           `json:"macro"` // the mean of the sets
	Silence []lost        `json:"silence"`
	P50     time.Duration `json:"p50_ns"` // of a search, as the client sees it
	P99     time.Duration `json:"p99_ns"`

	sets []*figures
}

// figures are what was measured of a set.
type figures struct {
	Name             string
	outcomes         []outcome
	implicit         []outcome // the same questions as prompts; none for most sets
	strange, foreign silence   // questions of other sets in the same language, in the other
	removed          silence
}

// row is a set, or a category of it.
type row struct {
	Name    string `json:"name"`
	Queries int    `json:"queries"`
	grade
	Low        float64  `json:"ndcg10_low"`
	High       float64  `json:"ndcg10_high"`
	Strangers  *silence `json:"strangers,omitempty"`
	Foreign    *silence `json:"foreign,omitempty"`
	Removed    *silence `json:"removed,omitempty"`
	Categories []row    `json:"categories,omitempty"`
	Implicit   []row    `json:"implicit,omitempty"` // by category, of a recall for the same questions as prompts
}

// lost is what a minimum score would do: when it empties that share of the answerable questions, how many of the others
// are silent.
type lost struct {
	Emptied   float64 `json:"emptied"`
	Strangers float64 `json:"strangers"`
	Foreign   float64 `json:"with_foreign"`
	Removed   float64 `json:"removed"`
}

// finish sums up the sets. The macro figure weighs every set alike, whatever its number of queries: one long
// conversation must not decide for all.
func (r *report) finish(took []time.Duration) {
	var groups [][]grade
	var tops []float64
	var strange, foreign, removed silence
	for _, f := range r.sets {
		out := rowOf(f.Name, f.outcomes)
		for _, o := range f.outcomes {
			tops = append(tops, o.top)
		}
		out.Categories, out.Implicit = byCategory(f.outcomes), byCategory(f.implicit)
		out.Strangers, out.Foreign, out.Removed = &f.strange, &f.foreign, &f.removed
		strange.join(f.strange)
		foreign.join(f.foreign)
		removed.join(f.removed)
		r.Sets = append(r.Sets, out)
		r.Macro.grade.add(out.grade, 1/float64(len(r.sets)))
		r.Macro.Queries += out.Queries
		groups = append(groups, grades(f.outcomes))
	}
	r.Macro.Name = "macro"
	r.Macro.Low, r.Macro.High = interval(groups...)
	r.Macro.Strangers, r.Macro.Foreign, r.Macro.Removed = &strange, &foreign, &removed
	both := strange
	both.tops = slices.Concat(strange.tops, foreign.tops)
	slices.Sort(tops)
	for _, share := range []float64{0, .01, .02, .03, .05, .1} {
		least := 0.0
		if len(tops) > 0 {
			least = tops[min(len(tops)-1, int(share*float64(len(tops))))]
		}
		r.Silence = append(r.Silence, lost{below(tops, least), below(strange.tops, least), below(both.tops, least),
			below(removed.tops, least)})
	}
	slices.Sort(took)
	if n := len(took); n > 0 {
		r.P50, r.P99 = took[n/2], took[n*99/100]
	}
}

// byCategory makes a row of each category, none when there is one category.
func byCategory(outcomes []outcome) (rows []row) {
	by := map[string][]outcome{}
	for _, o := range outcomes {
		by[o.query.Category] = append(by[o.query.Category], o)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if name != "" && len(by) > 1 {
			rows = append(rows, rowOf(name, by[name]))
		}
	}
	return rows
}

// below is the share of scores that a minimum would empty.
func below(scores []float64, least float64) float64 {
	n := 0
	for _, s := range scores {
		if s == 0 || s < least {
			n++
		}
	}
	return float64(n) / float64(max(1, len(scores)))
}

func grades(all []outcome) []grade {
	out := make([]grade, len(all))
	for i, o := range all {
		out[i] = o.grade
	}
	return out
}

// rowOf is the mean of a set with its 95 % bootstrap interval over queries.
func rowOf(name string, all []outcome) row {
	g := grades(all)
	r := row{Name: name, Queries: len(all), grade: mean(g)}
	r.Low, r.High = interval(g)
	return r
}

func (r *report) writeJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

// writeTable writes the figures for people: sets, their categories, the mean, and the minimum scores that
// would silence strangers with what they would cost.
func (r *report) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "profile %s %s\nset\tqueries\tnDCG@10\t95 %%\tR@5\tR@10\tP@10\tMRR\tfirst\tthree\tempty\tstrangers "+
		"silent\tremoved silent\n", r.Profile, r.Half)
	line := func(indent string, s *row) {
		fmt.Fprintf(t, "%s%s\t%d\t%.3f\t%.3f–%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f",
			indent, s.Name, s.Queries, s.NDCG, s.Low, s.High, s.At5, s.At10, s.Right, s.MRR, s.First, s.Three, s.Empty)
		if s.Strangers != nil {
			fmt.Fprintf(t, "\t%.3f\t%.3f", s.Strangers.share(), s.Removed.share())
		}
		fmt.Fprintln(t)
	}
	for i := range r.Sets {
		line("", &r.Sets[i])
		for j := range r.Sets[i].Categories {
			line("  ", &r.Sets[i].Categories[j])
		}
		for j := range r.Sets[i].Implicit {
			line("  implicit ", &r.Sets[i].Implicit[j])
		}
	}
	line("", &r.Macro)
	fmt.Fprintf(t, "\na minimum score that empties\tstrangers silent\tthe same, both languages\tremoved silent\n")
	for _, s := range r.Silence {
		fmt.Fprintf(t, "%.3f\t%.3f\t%.3f\t%.3f\n", s.Emptied, s.Strangers, s.Foreign, s.Removed)
	}
	fmt.Fprintf(t, "\nsearch p50 %v, p99 %v\n", r.P50.Round(time.Microsecond), r.P99.Round(time.Microsecond))
	return t.Flush()
}
