package archiver

import (
	"context"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// importedOn returns the day on which a log came in by an import, the zero time when it did not, changed otherwise since, or the journal has
// forgotten. That it was archived in the meantime does not count as a change.
func (a *Archiver) importedOn(ctx context.Context, d *memory.Day) (time.Time, error) {
	for revision := d.Revision; revision != 0; {
		rec, err := a.operation(ctx, revision)
		if rec == nil || err != nil {
			return time.Time{}, err
		}
		if rec.Actor == journal.ActorImport {
			return dateOf(rec.At.In(a.loc)), nil
		}
		revision = 0
		for _, c := range rec.Changes {
			if rec.Actor == journal.ActorArchive && c.Day != nil && c.Day.Date == d.Date && c.Day.Before != nil {
				revision = c.Day.Before.Revision
			}
		}
	}
	return time.Time{}, nil
}
