package archiver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// adoption says what a store adopted of another tool when it was new.
type adoption struct {
	day  time.Time // when that was; zero if it adopted nothing, or the journal was trimmed since
	last int64     // the last operation of it; all before are too
}

// adoption reads from the journal what the store adopted. Its records hold all that was adopted and take long to read,
// so what they say is kept: a store adopts nothing once it serves.
func (a *Archiver) adoption(ctx context.Context) (adoption, error) {
	if known := a.adopted.Load(); known != nil {
		return *known, nil
	}
	var found adoption
	for rec, err := range a.store.Operations(ctx, 1, a.store.LSN()) {
		if err != nil {
			return found, fmt.Errorf("read the oldest operations: %w", err)
		}
		if rec.Actor != journal.ActorAdopt {
			break
		}
		found = adoption{day: dateOf(rec.At.In(a.loc)), last: rec.Op}
	}
	if found.last != 0 { // else it was read at once
		a.adopted.Store(&found)
	}
	return found, nil
}

// graceReason returns why a log, as of a revision, must not be deleted yet, "" if it may be. Old logs of an adopted
// directory, an import or a restored backup are archived at once, so people need time to review them before deletion.
func (r *run) graceReason(ctx context.Context, date string, revision int64) (string, error) {
	day, ok := parseDate(date)
	if !ok {
		return "", nil
	}
	for _, came := range []time.Time{r.adopted.day, r.restored} {
		if reason := r.waitReason(day, came); reason != "" {
			return reason, nil
		}
	}
	came, err := r.importedOn(ctx, date, revision)
	return r.waitReason(day, came), err
}

// waitReason returns why a log that came on the day must not be deleted yet. A zero day means that it was written here.
func (r *run) waitReason(day, came time.Time) string {
	grace := r.a.graceEnd(came, r.opts.ArchiveDays, r.opts.DeleteDays)
	if !day.Before(came) || !r.today.Before(grace) {
		return ""
	}
	return "it was adopted, imported or restored; it is deleted from " + grace.Format(memory.DateLayout)
}

// graceEnd returns the day on which adopted, imported or restored data ages like other data; the zero time for a zero
// day. The grace period is the time between archiving and deletion.
func (a *Archiver) graceEnd(came time.Time, archiveDays, deleteDays int) time.Time {
	if came.IsZero() {
		return came
	}
	return came.AddDate(0, 0, max(deleteDays-archiveDays, 1))
}

// undoneBy returns the operation that undid the archiving or deletion of a log at a revision, 0 if its last change
// was another one. An undone step is not repeated until the log changes or the journal is trimmed. Logs that came
// together by an import have one revision, whose record is long and read once.
func (r *run) undoneBy(ctx context.Context, revision int64) (int64, error) {
	if revision <= r.adopted.last {
		return 0, nil // it came with the adoption
	}
	if op, known := r.undone[revision]; known {
		return op, nil
	}
	op, err := r.a.undoneBy(ctx, revision)
	if err == nil {
		r.undone[revision] = op
	}
	return op, err
}

// undoneBy reads from the journal what run.undoneBy returns.
func (a *Archiver) undoneBy(ctx context.Context, revision int64) (int64, error) {
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

// operation returns a journal record, nil if the journal was trimmed.
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

// dateOf returns midnight UTC of t's calendar date, so that differences are whole days despite daylight saving time.
func dateOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// parseDate parses a date as dateOf represents it.
func parseDate(s string) (time.Time, bool) {
	t, err := time.Parse(memory.DateLayout, s)
	return t, err == nil
}
