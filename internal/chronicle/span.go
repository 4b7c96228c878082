package chronicle

import (
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
)

// span is a range of dates, inclusive; either end may be open.
type span struct{ from, to string }

// spanOf is the dates of which entries can be among the results. Days of other time zones are a day away at most.
func spanOf(req *search.Request, now time.Time) (s span) {
	date := func(t time.Time, days int) string {
		return t.In(now.Location()).AddDate(0, 0, days).Format(memory.DateLayout)
	}
	if t := req.Filter.CreatedAfter; !t.IsZero() {
		s.from = date(t, -1)
	}
	for _, t := range []time.Time{req.AsOf, req.Filter.CreatedBefore} {
		if to := date(t, 1); !t.IsZero() && (s.to == "" || to < s.to) {
			s.to = to
		}
	}
	return s
}

// namedBy is the days that a query names, from the first to the last.
func namedBy(all []search.Period) (s span) {
	for _, p := range all {
		from, to := p.From.AddDate(0, 0, -1).Format(memory.DateLayout), p.Before.Format(memory.DateLayout)
		if s.from == "" || from < s.from {
			s.from = from
		}
		s.to = max(s.to, to)
	}
	return s
}

// and is the days in both.
func (s span) and(o span) span {
	if o.to != "" && o.to < s.to {
		s.to = o.to
	}
	s.from = max(s.from, o.from)
	return s
}

// until is the days up to and including the one before date.
func (s span) until(date string) span {
	if t, err := time.Parse(memory.DateLayout, date); err == nil {
		s.to = min(s.to, t.AddDate(0, 0, -1).Format(memory.DateLayout))
	}
	return s
}
