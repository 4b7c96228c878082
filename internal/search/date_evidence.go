package search

import (
	"time"

	"github.com/memsidecar/memsidecar/internal/search/analysis"
)

// A date in a query may be when something was said or when it happened; the latter is said some days later.
const (
	toldLater    = 14 * 24 * time.Hour // after a day that is named, in which it is still talked about
	nearShare    = 0.25                // of the evidence, for a memory of that time
	relativeDate = 0.3                 // of the evidence, for "last week": mostly of what happened, not of when it was told
)

// dateShare is how well the creation of a document matches the dates that the query names, 0 to 1.
func (c *evidenceCollector) dateShare(doc uint32) (best float64) {
	if len(c.q.dates) == 0 || c.index.docs[doc] == nil {
		return 0
	}
	at := c.index.docs[doc].CreatedAt
	for _, d := range c.q.dates {
		share := 0.0
		switch {
		case d.Contains(at):
			share = 1
		case d.Kind == analysis.CalendarDate && d.IsDay() && !at.Before(d.From) && at.Sub(d.Before) < toldLater:
			share = nearShare
		}
		best = max(best, share*c.dateTrust(d))
	}
	return best
}

// dateTrust is how far a date tells which memories are meant. A query of nothing but a date is about it. "Today" in a
// longer one is when it is asked.
func (c *evidenceCollector) dateTrust(d analysis.DateRange) float64 {
	switch {
	case !c.q.topic || d.Kind == analysis.CalendarDate:
		return 1
	case d.Kind == analysis.PastDate:
		return relativeDate
	}
	return 0
}
