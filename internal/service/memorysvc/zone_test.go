package memorysvc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// TestDaysOfOtherLengths: the days on which the clocks change have 23 and 25 hours, and a move to another zone makes
// days overlap. No entry is lost and none is there twice; each says with its offset when it was.
func TestDaysOfOtherLengths(t *testing.T) {
	zone := func(name string) *time.Location {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Skip("no zone database:", err)
		}
		return loc
	}
	berlin, york := zone("Europe/Berlin"), zone("America/New_York")
	b := newBench(t)
	want := map[string]int{}
	seen := map[string]bool{}
	hour := func(loc *time.Location, at time.Time) {
		b.clock = at.In(loc)
		text := at.UTC().Format(time.RFC3339)
		if _, err := b.AppendLog(t.Context(), store.Meta{}, []*memory.Entry{{Content: text}}, false); err != nil {
			t.Fatal(err)
		}
		want[b.clock.Format(memory.DateLayout)]++
	}
	for _, begin := range []time.Time{time.Date(2026, 3, 28, 0, 0, 0, 0, berlin),
		time.Date(2026, 10, 24, 0, 0, 0, 0, berlin)} {
		for at := begin; at.Before(begin.AddDate(0, 0, 3)); at = at.Add(time.Hour) {
			hour(berlin, at)
		}
	}
	moved := time.Date(2026, 11, 1, 3, 0, 0, 0, berlin) // it is October still in New York, where that day has 25 hours
	for i := range 48 {
		hour(york, moved.Add(time.Duration(i)*time.Hour))
	}
	got := map[string]int{}
	for date := range want {
		_, entries, err := b.store.Space("").Log(date)
		if err != nil {
			t.Fatal(err)
		}
		got[date] = len(entries)
		for _, e := range entries {
			if text := e.At.UTC().Format(time.RFC3339); text != e.Content || seen[text] ||
				e.At.Format(memory.DateLayout+" "+time.TimeOnly) != fmt.Sprint(date, " ", e.Time) {
				t.Errorf("%s %s: entry of %s at %s", date, e.Time, e.Content, e.At)
			}
			seen[e.Content] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries by day (-want +got):\n%s", diff)
	}
	if want["2026-03-29"] != 23 || want["2026-10-25"] != 25 || want["2026-11-01"] != 25 {
		t.Errorf("the days have other lengths: %v", want)
	}
}
