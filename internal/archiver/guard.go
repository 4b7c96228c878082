package archiver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

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

// inGrace says why a log of that date, as it was at a revision, must not be deleted yet, "" when it may be. What came from elsewhere, with a directory
// that was taken over, by an import or in a backup that was restored, is archived at once; there must be time to look at it.
func (r *run) inGrace(ctx context.Context, date string, revision int64) (string, error) {
	day, ok := parseDate(date)
	if !ok {
		return "", nil
	}
	for _, came := range []time.Time{r.adopted, r.restored} {
		if reason := r.waits(day, came); reason != "" {
			return reason, nil
		}
	}
	came, err := r.importedOn(ctx, date, revision)
	return r.waits(day, came), err
}

// waits says why a log that came from elsewhere on a day, the zero time for none, must not be deleted yet.
func (r *run) waits(day, came time.Time) string {
	grace := r.a.grace(came, r.opts.ArchiveDays, r.opts.DeleteDays)
	if !day.Before(came) || !r.today.Before(grace) {
		return ""
	}
	return "it came from elsewhere; it is deleted from " + grace.Format(memory.DateLayout) + " on"
}

// grace is the day on which what came from elsewhere begins to age as the rest does; the zero time when nothing came. Whoever
// hands over a directory with old logs finds them archived, and has as long to look as anybody has between archiving and deletion.
func (a *Archiver) grace(came time.Time, archiveDays, deleteDays int) time.Time {
	if came.IsZero() {
		return came
	}
	return came.AddDate(0, 0, max(deleteDays-archiveDays, 1))
}

// undone returns the operation that undid the archiving or deletion of a log at a revision, 0 when its last change was another one. What
// a person took back is not done again, until the log changes or the journal has forgotten.
func (a *Archiver) undone(ctx context.Context, revision int64) (int64, error) {
	if revision == 0 {
		return 0, nil
	}
	last, err := a.operation(ctx, revision)
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
