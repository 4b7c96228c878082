// Package usage counts by day what is remembered and what happened, for plots. It reads the store and keeps only what
// it counted: memories and logs are counted anew when their space has changed, and of the journal each operation is
// read once.
package usage

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// maxOperations is how many of the newest operations of the journal the first count reads.
const maxOperations = 100_000

// Day counts one day. Counts are of the spaces asked for.
type Day struct {
	Date       string           // in the service's time zone
	Added      map[string]int64 // memories created, by category, in whatever state they are now
	Removed    map[string]int64 // memories superseded or retired by their last change, by category
	LogEntries int64            // of the daily log, or that it had when it was archived and deleted
	Operations map[string]int64 // by actor; those that only count accesses or keep messages left out
	Accesses   int64
	Messages   int64
}

// Days is what was counted.
type Days struct {
	Days         []Day            // oldest first
	HistoryStart string           // first day of which operations, accesses and messages are known; "" for none
	Active       map[string]int64 // active memories by category
}

// Service counts. It is safe for concurrent use.
type Service struct {
	store *store.Store
	loc   *time.Location

	mu     sync.Mutex
	spaces map[string]*holdings // what was counted of each space; guarded by mu
	past   history              // guarded by mu
}

// holdings are the counts of the memories and logs of a space at a revision.
type holdings struct {
	revision int64
	days     map[string]*Day
	active   map[string]int64
}

// history is what was read of the journal.
type history struct {
	read   int64  // up to this position
	oldest string // day of the oldest operation read
	days   map[string]map[string]*Day
}

// New does no I/O. Days begin at midnight in loc.
func New(s *store.Store, loc *time.Location) *Service {
	return &Service{store: s, loc: loc, spaces: map[string]*holdings{},
		past: history{days: map[string]map[string]*Day{}}}
}

// Days counts the days of some spaces, all when none is named, between two dates, either of which may be empty. It
// waits while somebody else counts, and no write waits for it. Error: that of reading the journal.
func (s *Service) Days(ctx context.Context, spaces []string, from, to string) (Days, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readOn(ctx); err != nil {
		return Days{}, err
	}
	if len(spaces) == 0 {
		spaces = s.store.Spaces()
	}
	out := Days{HistoryStart: s.past.oldest, Active: map[string]int64{}}
	sum := map[string]*Day{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(spaces))) {
		h := s.held(name)
		addAll(out.Active, h.active)
		for _, days := range []map[string]*Day{h.days, s.past.days[name]} {
			for date, d := range days {
				if (from == "" || date >= from) && (to == "" || date <= to) {
					on(sum, date).add(d)
				}
			}
		}
	}
	dates := slices.Sorted(maps.Keys(sum))
	for _, date := range dates {
		out.Days = append(out.Days, *sum[date])
	}
	return out, nil
}

// on returns the day of a date, which is begun when it is not there.
func on(days map[string]*Day, date string) *Day {
	d := days[date]
	if d == nil {
		d = &Day{Date: date, Added: map[string]int64{}, Removed: map[string]int64{}, Operations: map[string]int64{}}
		days[date] = d
	}
	return d
}

// add sums two days, for a view over several spaces.
func (d *Day) add(other *Day) {
	addAll(d.Added, other.Added)
	addAll(d.Removed, other.Removed)
	addAll(d.Operations, other.Operations)
	d.LogEntries += other.LogEntries
	d.Accesses += other.Accesses
	d.Messages += other.Messages
}

func addAll(to, from map[string]int64) {
	for name, n := range from {
		to[name] += n
	}
}

func (s *Service) dateOf(at time.Time) string { return at.In(s.loc).Format(memory.DateLayout) }

// held counts what a space holds, if that was not done since it changed.
func (s *Service) held(name string) *holdings {
	view := s.store.Space(name)
	revision := view.Revision()
	if h := s.spaces[name]; h != nil && h.revision == revision {
		return h
	}
	h := &holdings{revision: revision, days: map[string]*Day{}, active: map[string]int64{}}
	for _, m := range view.Memories() {
		on(h.days, s.dateOf(m.CreatedAt)).Added[m.Category]++
		if m.IsActive() {
			h.active[m.Category]++
		} else {
			on(h.days, s.dateOf(m.UpdatedAt)).Removed[m.Category]++
		}
	}
	there := map[string]bool{}
	for _, d := range view.Days() {
		there[d.Date] = true
		on(h.days, d.Date).LogEntries += int64(d.Entries)
	}
	for _, r := range view.Archived() {
		if r.Deleted() && !there[r.Date] {
			on(h.days, r.Date).LogEntries += int64(r.Entries)
		}
	}
	if revision > 0 { // a name that nothing is kept under is not remembered
		s.spaces[name] = h
	}
	return h
}

// readOn reads what the journal has got since the last time; at the first, its newest operations.
func (s *Service) readOn(ctx context.Context) error {
	newest := s.store.LSN()
	if newest == s.past.read {
		return nil
	}
	first := s.past.read == 0
	from, n := s.past.read+1, 0
	// What is read is added only when all of it was: else the next time would count it again.
	var all []counted
	ops := s.store.Operations
	if first {
		ops = s.store.OperationsBackward
	}
	for rec, err := range ops(ctx, from, newest) {
		if err != nil {
			return err
		}
		if n++; first && n > maxOperations {
			break
		}
		if c := s.count(rec); c != (counted{}) {
			all = append(all, c)
		}
	}
	for _, c := range all {
		days := s.past.days[c.space]
		if days == nil {
			days = map[string]*Day{}
			s.past.days[c.space] = days
		}
		c.into(on(days, c.date))
		if s.past.oldest == "" || c.date < s.past.oldest {
			s.past.oldest = c.date
		}
	}
	s.past.read = newest
	return nil
}

// counted is what an operation adds to a day.
type counted struct {
	space, date, actor string // no actor: the operation itself does not count
	accesses, messages int64
}

// into adds one operation to its day. Accesses have no actor: they are counted, but are no operation of
// anybody.
func (c counted) into(d *Day) {
	if c.actor != "" {
		d.Operations[c.actor]++
	}
	d.Accesses += c.accesses
	d.Messages += c.messages
}

// count says what an operation counts for, zero for nothing. All of it counts for the day on which it was written,
// accesses a moment later than they were made.
func (s *Service) count(rec *journal.Record) counted {
	c := counted{space: rec.Space, date: s.dateOf(rec.At)}
	if store.Significant(rec) {
		c.actor = rec.Actor
	}
	for _, change := range rec.Changes {
		switch {
		case change.Access != nil:
			c.accesses += change.Access.Count
		case change.Message != nil:
			c.messages++
		}
	}
	if c.actor == "" && c.accesses == 0 && c.messages == 0 {
		return counted{}
	}
	return c
}
