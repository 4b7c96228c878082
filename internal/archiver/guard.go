package archiver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// clockSlack is how far the clock may lie behind the newest journal record before it is taken to be wrong. Corrections by
// a time service are smaller, and an hour decides about no log.
const clockSlack = time.Hour

// clockBehind returns a reason to postpone everything when the clock lies before the newest record of the journal.
func (a *Archiver) clockBehind(ctx context.Context, now time.Time) (string, error) {
	lsn := a.store.LSN()
	for rec, err := range a.store.Operations(ctx, max(1, lsn-1000), lsn, true, true) {
		switch {
		case errors.Is(err, memory.ErrTrimmed):
			return "", nil
		case err != nil:
			return "", fmt.Errorf("read the newest operation: %w", err)
		case now.Before(rec.At.Add(-clockSlack)):
			return "the clock is behind the newest operation, of " + rec.At.In(a.loc).Format(time.RFC3339), nil
		}
		break
	}
	return "", nil
}

// adoptedOn returns the day on which the store took over a directory of another tool, the zero time when it did not or the journal has
// forgotten.
func (a *Archiver) adoptedOn(ctx context.Context) (time.Time, error) {
	var at time.Time
	for rec, err := range a.store.Operations(ctx, 1, a.store.LSN(), false, true) {
		if err != nil {
			return at, fmt.Errorf("read the oldest operations: %w", err)
		}
		if rec.Actor != journal.ActorAdopt {
			break
		}
		at = dateOf(rec.At.In(a.loc))
	}
	return at, nil
}

// graceEnd is the first day on which a log of that date may be deleted. Whoever hands over a directory with old logs finds them archived, and has as
// long to look as anybody has between archiving and deletion.
// So do those who import them, or who restore a backup to see them once more.
func (r *run) graceEnd(ctx context.Context, d *memory.Day) (time.Time, error) {
	came, err := r.a.importedOn(ctx, d)
	for _, other := range []time.Time{r.adopted, r.restored} {
		if other.After(came) {
			came = other
		}
	}
	if day, ok := parseDate(d.Date); err != nil || !ok || came.IsZero() || !day.Before(came) {
		return time.Time{}, err
	}
	return came.AddDate(0, 0, max(r.opts.DeleteDays-r.opts.ArchiveDays, 1)), nil
}

// undone returns the operation that undid the archiving or deletion of a log, 0 when its last change was another one. What
// a person took back is not done again, until the log changes or the journal has forgotten.
func (a *Archiver) undone(ctx context.Context, d *memory.Day) (int64, error) {
	if d.Revision == 0 {
		return 0, nil
	}
	last, err := a.operation(ctx, d.Revision)
	if last == nil || last.Undoes == 0 {
		return 0, err
	}
	origin, err := a.operation(ctx, last.Undoes)
	if origin == nil || origin.Actor != journal.ActorArchive {
		return 0, err
	}
	return last.Op, nil
}

// operation is nil when the journal does not hold the operation any more.
func (a *Archiver) operation(ctx context.Context, op int64) (*journal.Record, error) {
	rec, err := a.store.Operation(ctx, op)
	if errors.Is(err, memory.ErrNotFound) || errors.Is(err, memory.ErrTrimmed) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read operation %d: %w", op, err)
	}
	return rec, nil
}

// dateOf is midnight UTC of t's calendar date: differences of such times are whole days, whatever the zone does.
func dateOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

func parseDate(s string) (time.Time, bool) {
	t, err := time.Parse(memory.DateLayout, s)
	return t, err == nil
}
