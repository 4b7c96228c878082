package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is one figure. Fields that do not apply are zero.
type row struct {
	Figure    string  `json:"figure"`
	Memories  int     `json:"memories"` // in the store before the measurement
	Clients   int     `json:"clients,omitempty"`
	Calls     int     `json:"calls,omitempty"`
	P50       float64 `json:"p50_us,omitempty"`
	P99       float64 `json:"p99_us,omitempty"`
	PerSecond float64 `json:"per_second,omitempty"` // calls
	Value     float64 `json:"value,omitempty"`      // of a figure that is not a time
	Unit      string  `json:"unit,omitempty"`
	Floor     string  `json:"floor,omitempty"` // what Ratio is to
	Ratio     float64 `json:"ratio,omitempty"`
	Target    string  `json:"target,omitempty"`
	Met       *bool   `json:"met,omitempty"`
	Noise     bool    `json:"noise,omitempty"` // missed, but not in every round or run

	rounds []float64 // the ratios of single rounds
}

// compare relates a figure to its floor. of returns both, of the samples as a whole or of one round of each; the ratios
// of the rounds say how much a ratio varies.
func (r *row) compare(name string, of func(s []sample) (figure, floor float64), samples ...sample) {
	figure, floor := of(samples)
	r.relate(figure, floor, name)
	for i := range samples[0].rounds {
		round := make([]sample, len(samples))
		for k, s := range samples {
			round[k] = s.rounds[i]
		}
		if figure, floor := of(round); floor > 0 {
			r.rounds = append(r.rounds, figure/floor)
		}
	}
}

// relate sets the ratio of a figure that was taken once to its floor.
func (r *row) relate(figure, floor float64, name string) {
	r.Floor = name
	if floor > 0 {
		r.Ratio = figure / floor
	}
}

// p50s compares the medians of the first sample with the sum of those of the others.
func p50s(s []sample) (figure, floor float64) {
	for _, f := range s[1:] {
		floor += us(f.at(.5))
	}
	return us(s[0].at(.5)), floor
}

// p90s is p50s for the 90th percentile.
func p90s(s []sample) (figure, floor float64) { return us(s[0].at(.9)), us(s[1].at(.9)) }

// p99s is p50s for the 99th percentile.
func p99s(s []sample) (figure, floor float64) { return us(s[0].at(.99)), us(s[1].at(.99)) }

// atMost sets an upper target for the ratio. A miss counts if the best round misses, too.
func (r *row) atMost(ratio float64) {
	r.target(r.Ratio <= ratio, fmt.Sprintf("≤ %.3g ×", ratio))
	r.Noise = !*r.Met && len(r.rounds) > 1 && slices.Min(r.rounds) <= ratio
}

// atLeast sets a lower target for the ratio.
func (r *row) atLeast(ratio float64) {
	r.target(r.Ratio >= ratio, fmt.Sprintf("≥ %.3g ×", ratio))
	r.Noise = !*r.Met && len(r.rounds) > 1 && slices.Max(r.rounds) >= ratio
}

// limit sets a target that is not a ratio.
func (r *row) limit(value, most float64, text string) { r.target(value <= most, text) }

// target sets the text of a target and whether it was met.
func (r *row) target(met bool, text string) { r.Target, r.Met = text, &met }

// report is what a run prints.
type report struct {
	Machine string `json:"machine"`
	Rows    []*row `json:"rows"`
}

// timed adds a row with quantiles and throughput.
func (rep *report) timed(figure string, size, clients int, s sample) *row {
	return rep.add(&row{
		Figure: figure, Memories: size, Clients: clients, Calls: len(s.calls),
		P50: us(s.at(.5)), P99: us(s.at(.99)), PerSecond: s.perSecond(),
	})
}

// add appends a row.
func (rep *report) add(r *row) *row {
	rep.Rows = append(rep.Rows, r)
	return r
}

// value adds a row that is not a time.
func (rep *report) value(figure string, size int, v float64, unit string) *row {
	return rep.add(&row{Figure: figure, Memories: size, Value: v, Unit: unit})
}

// find returns a row, nil when there is none.
func (rep *report) find(figure string, size, clients int) *row {
	for _, r := range rep.Rows {
		if r.Figure == figure && r.Memories == size && r.Clients == clients {
			return r
		}
	}
	return nil
}

// writeJSON writes the report for programs.
func (rep *report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(rep)
}

// writeTable writes the report for people.
func (rep *report) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\n\n", rep.Machine)
	fmt.Fprintln(t, "MEMORIES\tFIGURE\tCLIENTS\tP50 µs\tP99 µs\tPER SECOND\tRATIO\tTO\tTARGET\t")
	for _, r := range rep.Rows {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Memories, r.Figure,
			blank(float64(r.Clients), "%.0f"), blank(r.P50, "%.0f"), blank(r.P99, "%.0f"), r.rate(),
			blank(r.Ratio, "%.2f"), r.Floor, r.verdict())
	}
	fmt.Fprint(t, "\nMEMORIES\tFIGURE\tCLIENTS\tTARGET\tMEASURED\t\n")
	for _, r := range rep.Rows {
		if r.Met != nil {
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t\n", r.Memories, r.Figure, blank(float64(r.Clients), "%.0f"), r.verdict(),
				r.measured())
		}
	}
	return t.Flush()
}

// joinRuns takes out the rows of a run, from now on, and marks the targets that it met and the first run missed.
func (rep *report) joinRuns(first, now int) {
	for i, r := range rep.Rows[now:] {
		if old := rep.Rows[first+i]; r.Met != nil && *r.Met && old.missed() {
			old.Noise = true
		}
	}
	rep.Rows = rep.Rows[:now]
}

// missed reports whether a target was missed, and noise does not explain it.
func (r *row) missed() bool { return r.Met != nil && !*r.Met && !r.Noise }

// errMissed is a target that was missed in every round.
var errMissed = errors.New("targets were missed")

// verdict returns errMissed, with the number of misses, if there are any that the noise of the rounds does not explain.
func (rep *report) verdict() error {
	missed, targets := 0, 0
	for _, r := range rep.Rows {
		if r.Met != nil {
			targets++
			if r.missed() {
				missed++
			}
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d %w", missed, targets, errMissed)
	}
	return nil
}

// measured is what a target is about: the ratio with those of its rounds, or the value.
func (r *row) measured() string {
	switch {
	case r.Ratio > 0 && strings.Contains(r.Target, "×"):
		text := fmt.Sprintf("%.2f ×", r.Ratio)
		if len(r.rounds) > 1 {
			text += fmt.Sprintf(" (%.2f to %.2f)", slices.Min(r.rounds), slices.Max(r.rounds))
		}
		return text
	case r.P50 > 0:
		return fmt.Sprintf("p50 %.0f µs, p99 %.0f µs", r.P50, r.P99)
	}
	return r.amount()
}

// amount is the value with its unit, in three digits at least.
func (r *row) amount() string {
	if r.Value >= 1000 {
		return fmt.Sprintf("%.0f %s", r.Value, r.Unit)
	}
	return fmt.Sprintf("%.3g %s", r.Value, r.Unit)
}

// rate is the throughput, or the value of a figure that is not a time.
func (r *row) rate() string {
	if r.Clients > 0 {
		return blank(r.PerSecond, "%.0f")
	}
	return r.amount()
}

// verdict says by how much a target was missed, or that it was met.
func (r *row) verdict() string {
	switch {
	case r.Met == nil:
		return ""
	case *r.Met:
		return r.Target + " met"
	case r.Noise:
		return r.Target + " missed within the noise"
	default:
		return r.Target + " MISSED"
	}
}

// blank formats a value, and 0 as nothing.
func blank(v float64, format string) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}
