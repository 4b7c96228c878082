package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	// clockSlack is what the wall clock may be off without a doubt: corrections by a time service are smaller, and an hour decides about no log.
	clockSlack = time.Hour
	// longAbsence is the longest time without a record that is believed at once. A longer one may as well be a clock that is wrong.
	longAbsence = 7 * 24 * time.Hour
	// settleFor is how long a clock must run evenly to be believed after all.
	settleFor = 24 * time.Hour
)

// clock decides whether the wall clock can be trusted with what cannot wait to be undone: deleting by age.
//
// While the store is open the wall clock must advance as elapsed does. Once a step of more than clockSlack was seen, either way, it is in doubt
// until it is back in line with the time before the step, or has run for settleFor without another step.
//
// Across restarts the times of the newest records are what is known. The clock is in doubt while it, or any record of the last settleFor by its
// own count, lies more than clockSlack before the record before it, or more than longAbsence behind it. In
// the latter case, which may be an absence, ages are counted from the record before.
type clock struct {
	now     func() time.Time
	elapsed func() time.Duration

	mu      sync.Mutex
	wall    time.Time     // when it was looked at last; guarded by mu, like all that follows
	at      time.Duration // elapsed then
	stepped *step         // seen while the store is open; nil without doubt
	history *step         // seen in the records
	began   bool          // the records were looked at
}

// step is a step of the wall clock.
type step struct {
	from, to time.Time
	since    time.Duration // elapsed
	line     time.Duration // wall clock minus elapsed before it
	away     bool          // it may as well be that the daemon was away
}

func newClock(now func() time.Time, elapsed func() time.Duration) *clock {
	c := &clock{now: func() time.Time { return now().Round(0) }, elapsed: elapsed}
	if elapsed == nil {
		first := c.now()
		c.elapsed = func() time.Duration { return c.now().Sub(first) }
	}
	c.wall, c.at = c.now(), c.elapsed()
	return c
}

// epoch is where lines are counted from.
var epoch = time.Unix(0, 0)

func line(wall time.Time, at time.Duration) time.Duration { return wall.Sub(epoch) - at }

// look notes a step since it was called last, and forgets one that is over.
func (c *clock) look() {
	now, at := c.now(), c.elapsed()
	before, present := line(c.wall, c.at), line(now, at)
	if off(present, before) {
		s := &step{from: c.wall.Add(at - c.at), to: now, since: at, line: before}
		if c.stepped != nil {
			s.from, s.line = c.stepped.from, c.stepped.line
		}
		c.stepped = s
	}
	c.wall, c.at = now, at
	if s := c.stepped; s != nil && (!off(present, s.line) || at-s.since >= settleFor) {
		c.stepped = nil
	}
	if c.history != nil && at-c.history.since >= settleFor {
		c.history = nil
	}
}

func off(a, b time.Duration) bool { return a-b > clockSlack || b-a > clockSlack }

func (s *step) String() string {
	if s.away {
		return fmt.Sprintf("nothing was recorded from %s to %s: either the daemon was away or the clock is wrong; until it has run evenly for %d hours, ages are counted as of the former",
			s.from.UTC().Format(time.RFC3339), s.to.UTC().Format(time.RFC3339), settleFor/time.Hour)
	}
	return fmt.Sprintf("the clock went from %s to %s; ages are trusted again when it is set right or has run evenly for %d hours",
		s.from.UTC().Format(time.RFC3339), s.to.UTC().Format(time.RFC3339), settleFor/time.Hour)
}

// ClockDoubt says why the wall clock is not to be trusted with deleting by age, "" when it is. docs/crash-safety.md has the rule.
func (s *Store) ClockDoubt(ctx context.Context) (string, error) {
	c := s.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	if !c.began {
		found, err := s.stepInRecords(ctx, c.wall, c.at)
		if err != nil {
			return "", err
		}
		c.began, c.history = true, found
	}
	return c.doubt(), nil
}

// TrustedNow is the time to count ages from: the wall clock, or after a long absence, as long as that may be a clock that is wrong, the newest record
// before it. So somebody who is here for an hour every other week has things age too. With a doubt nothing may be done by age.
func (s *Store) TrustedNow(ctx context.Context) (now time.Time, doubt string, err error) {
	if _, err := s.ClockDoubt(ctx); err != nil {
		return now, "", err
	}
	c := s.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stepped == nil && c.history == nil:
		return c.wall, "", nil
	case c.stepped == nil && c.history.away:
		return c.history.from, "", nil
	}
	return c.wall, c.doubt(), nil
}

// ClockDoubtSeen is what ClockDoubt would say as far as that is known without reading anything: it never waits.
func (s *Store) ClockDoubtSeen() string {
	c := s.clock
	if !c.mu.TryLock() {
		return ""
	}
	defer c.mu.Unlock()
	c.look()
	return c.doubt()
}

func (c *clock) doubt() string {
	switch {
	case c.stepped != nil:
		return c.stepped.String()
	case c.history != nil:
		return c.history.String()
	}
	return ""
}

// stepInRecords looks for a step between the newest records and up to now.
func (s *Store) stepInRecords(ctx context.Context, now time.Time, at time.Duration) (*step, error) {
	later := now
	for rec, err := range s.Operations(ctx, 1, s.LSN(), true, true) {
		if errors.Is(err, memory.ErrTrimmed) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the newest operations: %w", err)
		}
		if gap := later.Sub(rec.At); gap < -clockSlack || gap > longAbsence {
			// It has been over for as long as the records behind it tell.
			return &step{from: rec.At, to: later, since: at - max(0, now.Sub(later)), away: gap > 0}, nil
		}
		if later = rec.At; now.Sub(later) >= settleFor {
			return nil, nil
		}
	}
	return nil, nil
}
