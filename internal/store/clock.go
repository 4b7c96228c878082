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
	// clockSlack is how far a step of the wall clock may go without a warning. Time services correct less, and an hour
	// decides about no log.
	clockSlack = time.Hour
	// longAbsence is the longest time without a record that is accepted at once. A longer gap may also be a wrong
	// clock.
	longAbsence = 7 * 24 * time.Hour
	// trustAfter is how long a clock must run evenly until it is trusted again.
	trustAfter = 24 * time.Hour
)

// clock decides whether the wall clock may be used for what cannot be undone: deletion by age.
//
// While the store is open, the wall clock must advance as elapsed does. After a step of more than clockSlack, forward
// or backward, it is not trusted until it is back in line with the time before the step, or has run for trustAfter
// without another step.
//
// Across restarts the times of the newest records are the only evidence. The clock is not trusted while it, or any
// record of the last trustAfter, is more than clockSlack before the preceding record, or more than longAbsence after
// it. The latter may be a real absence: then ages are counted as of the record before the gap.
type clock struct {
	now     func() time.Time
	elapsed func() time.Duration

	mu sync.Mutex
	// wall and at are the wall clock and elapsed at the last observation. mu guards the fields from here on.
	wall time.Time
	at   time.Duration // elapsed then
	// stepped is a step that was observed while the store was open, nil for none.
	stepped *step
	// history is a step between records, nil for none. recordsChecked says that it was looked for.
	history        *step
	recordsChecked bool
}

// step is a step of the wall clock.
type step struct {
	from, to time.Time
	// since is elapsed when the step was observed.
	since time.Duration
	// offset is the wall clock minus elapsed before the step.
	offset time.Duration
	// away says that the daemon may simply have been stopped.
	away bool
}

// newClock returns a clock that has observed the present time. Without elapsed it derives one from now.
func newClock(now func() time.Time, elapsed func() time.Duration) *clock {
	c := &clock{now: func() time.Time { return now().Round(0) }, elapsed: elapsed}
	if elapsed == nil {
		first := c.now()
		c.elapsed = func() time.Duration { return c.now().Sub(first) }
	}
	c.wall, c.at = c.now(), c.elapsed()
	return c
}

// epoch is an arbitrary origin for offsets.
var epoch = time.Unix(0, 0)

// clockOffset is the wall clock minus elapsed. It is constant while the clock runs evenly.
func clockOffset(wall time.Time, at time.Duration) time.Duration { return wall.Sub(epoch) - at }

// observe records a step since it was last called, and drops one that is over. The caller holds mu.
func (c *clock) observe() {
	now, at := c.now(), c.elapsed()
	before, present := clockOffset(c.wall, c.at), clockOffset(now, at)
	if differs(present, before) {
		s := &step{from: c.wall.Add(at - c.at), to: now, since: at, offset: before}
		if c.stepped != nil {
			s.from, s.offset = c.stepped.from, c.stepped.offset
		}
		c.stepped = s
	}
	c.wall, c.at = now, at
	if s := c.stepped; s != nil && (!differs(present, s.offset) || at-s.since >= trustAfter) {
		c.stepped = nil
	}
	if c.history != nil && at-c.history.since >= trustAfter {
		c.history = nil
	}
}

// differs reports whether two offsets are more than clockSlack apart.
func differs(a, b time.Duration) bool { return a-b > clockSlack || b-a > clockSlack }

// String describes the step for people, with what ends the warning.
func (s *step) String() string {
	if s.away {
		return fmt.Sprintf("nothing was recorded from %s to %s: either the daemon was stopped or the clock is wrong; "+
			"until it has run evenly for %d hours, ages are counted as of the former",
			s.from.UTC().Format(time.RFC3339), s.to.UTC().Format(time.RFC3339), trustAfter/time.Hour)
	}
	return fmt.Sprintf("the clock went from %s to %s; ages are trusted again when it is set right or has run evenly "+
		"for %d hours",
		s.from.UTC().Format(time.RFC3339), s.to.UTC().Format(time.RFC3339), trustAfter/time.Hour)
}

// ClockWarning says why deletion by age is suspended, "" while the wall clock is trusted. The first call reads the
// newest records.
func (s *Store) ClockWarning(ctx context.Context) (string, error) {
	c := s.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observe()
	if !c.recordsChecked {
		found, err := s.stepInRecords(ctx, c.wall, c.at)
		if err != nil {
			return "", err
		}
		c.recordsChecked, c.history = true, found
	}
	return c.warning(), nil
}

// TrustedNow is the time from which ages are counted: the wall clock, or, after a gap that may be an absence or a wrong
// clock, the newest record before the gap. So things age also for somebody who works one hour every other week. When
// warning is not "", nothing may be deleted by age.
func (s *Store) TrustedNow(ctx context.Context) (now time.Time, warning string, err error) {
	if _, err := s.ClockWarning(ctx); err != nil {
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
	return c.wall, c.warning(), nil
}

// LastClockWarning is what ClockWarning would return, as far as that is known without reading anything. It never waits.
func (s *Store) LastClockWarning() string {
	c := s.clock
	if !c.mu.TryLock() {
		return ""
	}
	defer c.mu.Unlock()
	c.observe()
	return c.warning()
}

// warning describes the step that makes the clock untrusted, "" for none. The caller holds mu.
func (c *clock) warning() string {
	switch {
	case c.stepped != nil:
		return c.stepped.String()
	case c.history != nil:
		return c.history.String()
	}
	return ""
}

// stepInRecords searches for a step between the newest records, and between the last one and now. It ends at the first
// record that is older than trustAfter.
func (s *Store) stepInRecords(ctx context.Context, now time.Time, at time.Duration) (*step, error) {
	const beforeRest = 128 // records, which take about a millisecond
	later, read := now, 0
	for rec, err := range untilDone(ctx, s.journal.Times(s.journal.First(), s.LSN())) {
		if errors.Is(err, memory.ErrTrimmed) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the newest operations: %w", err)
		}
		if gap := later.Sub(rec.At); gap < -clockSlack || gap > longAbsence {
			// The records since show how long the clock has run evenly.
			return &step{from: rec.At, to: later, since: at - max(0, now.Sub(later)), away: gap > 0}, nil
		}
		if later = rec.At; now.Sub(later) >= trustAfter {
			return nil, nil
		}
		if read++; read%beforeRest == 0 { // there may be a hundred thousand, and others wait for the processor
			time.Sleep(time.Millisecond)
		}
	}
	return nil, nil
}
