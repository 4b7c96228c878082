package archiver

import (
	"context"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// imports caches the day of an import by its operation, the zero time for other operations. Many logs share one import.
type imports map[int64]time.Time

// importedOn returns the day on which a log, as of a revision, was imported; the zero time if it was not, changed
// since, or the journal was trimmed. Archiving does not count as a change.
func (r *run) importedOn(ctx context.Context, date string, revision int64) (time.Time, error) {
	for revision != 0 {
		if came, known := r.imports[revision]; known {
			return came, nil
		}
		rec, err := r.a.operation(ctx, revision)
		if rec == nil || err != nil {
			return time.Time{}, err
		}
		switch rec.Actor {
		case journal.ActorImport:
			r.imports[revision] = dateOf(rec.At.In(r.a.loc))
		case journal.ActorArchive:
			revision = 0
			for _, c := range rec.Changes {
				if c.Day != nil && c.Day.Date == date && c.Day.Before != nil {
					revision = c.Day.Before.Revision
				}
			}
		default:
			r.imports[revision] = time.Time{}
		}
	}
	return time.Time{}, nil
}
