package main

import (
	"encoding/json"
	"fmt"
	"io"
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
}

// compare relates a figure to its floor.
func (r *row) compare(figure, floor float64, name string) {
	r.Floor = name
	if floor > 0 {
		r.Ratio = figure / floor
	}
}

// atMost sets an upper target for the ratio.
func (r *row) atMost(ratio float64) { r.target(r.Ratio <= ratio, fmt.Sprintf("≤ %.3g ×", ratio)) }

// atLeast sets a lower target for the ratio.
func (r *row) atLeast(ratio float64) { r.target(r.Ratio >= ratio, fmt.Sprintf("≥ %.3g ×", ratio)) }

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
	missed, targets := 0, 0
	for _, r := range rep.Rows {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Memories, r.Figure,
			blank(float64(r.Clients), "%.0f"), blank(r.P50, "%.0f"), blank(r.P99, "%.0f"), r.rate(),
			blank(r.Ratio, "%.2f"), r.Floor, r.verdict())
		if r.Met != nil {
			targets++
			if !*r.Met {
				missed++
			}
		}
	}
	fmt.Fprintf(t, "\n%d of %d targets missed\n", missed, targets)
	return t.Flush()
}

// rate is the throughput, or the value of a figure that is not a time.
func (r *row) rate() string {
	if r.Clients > 0 {
		return blank(r.PerSecond, "%.0f")
	}
	return fmt.Sprintf("%.3g %s", r.Value, r.Unit)
}

// verdict says by how much a target was missed, or that it was met.
func (r *row) verdict() string {
	switch {
	case r.Met == nil:
		return ""
	case *r.Met:
		return r.Target + " met"
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
