package archiver

import (
	"context"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// compressionWaits says why nothing is to be compressed unasked yet, "" when it may be: the whole store came from elsewhere not long ago.
func (a *Archiver) compressionWaits(ctx context.Context, now time.Time) (string, error) {
	adopted, err := a.adoptedOn(ctx)
	if err != nil {
		return "", err
	}
	if until := a.compressedFrom(adopted, now); until != "" {
		return "the directory was taken over; its memories are compressed from " + until + " on", nil
	}
	if at := a.store.Restored(); !at.IsZero() {
		if until := a.compressedFrom(dateOf(at.In(a.loc)), now); until != "" {
			return "a backup was restored; its memories are compressed from " + until + " on", nil
		}
	}
	return "", nil
}

// compressedFrom is the date from which on what came on a day is compressed; "" when that has come.
func (a *Archiver) compressedFrom(came, now time.Time) string {
	grace := a.grace(came, a.archiveDays, a.deleteDays)
	if !dateOf(now.In(a.loc)).Before(grace) {
		return ""
	}
	return grace.Format(memory.DateLayout)
}

// importedLately says why memories must not be merged unasked yet, "" when they may be. An imported memory keeps the times it came with, so its
// age says nothing of how long anybody could have looked at it here.
func (a *Archiver) importedLately(ctx context.Context, members []*memory.Memory, now time.Time) (string, error) {
	seen := map[int64]bool{}
	for _, m := range members {
		if m.Revision == 0 || seen[m.Revision] {
			continue
		}
		seen[m.Revision] = true // one import brings many
		rec, err := a.operation(ctx, m.Revision)
		if err != nil {
			return "", err
		}
		if rec == nil || rec.Actor != journal.ActorImport {
			continue
		}
		if until := a.compressedFrom(dateOf(rec.At.In(a.loc)), now); until != "" {
			return "imported; compressed from " + until + " on", nil
		}
	}
	return "", nil
}

func leftAlone(space string, members []*memory.Memory, reason string) Group {
	g := Group{Space: space, Category: members[0].Category, Reason: reason}
	for _, m := range members {
		g.Originals = append(g.Originals, m.ID)
	}
	return g
}
