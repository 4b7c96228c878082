package logindex

import (
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// dateSpan is a range of dates (YYYY-MM-DD), inclusive; an empty end is open.
type dateSpan struct{ from, to string }

// filterSpan is the dates whose entries the filter of a request can admit. A time zone moves a day by at most one.
func filterSpan(req *search.Request, now time.Time) (s dateSpan) {
	date := func(t time.Time, days int) string {
		return t.In(now.Location()).AddDate(0, 0, days).Format(memory.DateLayout)
	}
	if t := req.Filter.CreatedFrom; !t.IsZero() {
		s.from = date(t, -1)
	}
	for _, t := range []time.Time{req.AsOf, req.Filter.CreatedBefore} {
		if to := date(t, 1); !t.IsZero() && (s.to == "" || to < s.to) {
			s.to = to
		}
	}
	return s
}

// querySpan is the dates that a query names, from the first to the last.
func querySpan(ranges []analysis.DateRange) (s dateSpan) {
	for _, r := range ranges {
		from, to := r.From.AddDate(0, 0, -1).Format(memory.DateLayout), r.Before.Format(memory.DateLayout)
		if s.from == "" || from < s.from {
			s.from = from
		}
		s.to = max(s.to, to)
	}
	return s
}

// intersect is the dates in both.
func (s dateSpan) intersect(o dateSpan) dateSpan {
	if o.to != "" && o.to < s.to {
		s.to = o.to
	}
	s.from = max(s.from, o.from)
	return s
}

// before is the dates of s before a date.
func (s dateSpan) before(date string) dateSpan {
	if t, err := time.Parse(memory.DateLayout, date); err == nil {
		s.to = min(s.to, t.AddDate(0, 0, -1).Format(memory.DateLayout))
	}
	return s
}
