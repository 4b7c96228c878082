package archiver

import (
	"context"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// compressPostponed returns why a scheduled compression must wait, "" if it need not: the whole store was recently
// adopted or restored.
func (a *Archiver) compressPostponed(ctx context.Context, now time.Time) (string, error) {
	adopted, err := a.adoption(ctx)
	if err != nil {
		return "", err
	}
	if until := a.compressedFrom(adopted.day, now); until != "" {
		return "the directory was adopted; its memories are compressed from " + until, nil
	}
	if at := a.store.Restored(); !at.IsZero() {
		if until := a.compressedFrom(dateOf(at.In(a.loc)), now); until != "" {
			return "a backup was restored; its memories are compressed from " + until, nil
		}
	}
	return "", nil
}

// compressedFrom returns the date from which memories that came on a day are compressed; "" if it is past.
func (a *Archiver) compressedFrom(came, now time.Time) string {
	grace := a.graceEnd(came, a.archiveDays, a.deleteDays)
	if !dateOf(now.In(a.loc)).Before(grace) {
		return ""
	}
	return grace.Format(memory.DateLayout)
}

// recentImportReason returns why a scheduled run must not merge memories, "" if it may. Imported memories keep their
// original times, so their age does not show how long they could be reviewed here.
func (a *Archiver) recentImportReason(ctx context.Context, members []*memory.Memory, now time.Time) (string, error) {
	seen := map[int64]bool{}
	for _, m := range members {
		if m.Revision == 0 || seen[m.Revision] {
			continue
		}
		seen[m.Revision] = true // many memories share one import
		rec, err := a.operation(ctx, m.Revision)
		if err != nil {
			return "", err
		}
		if rec == nil || rec.Actor != journal.ActorImport {
			continue
		}
		if until := a.compressedFrom(dateOf(rec.At.In(a.loc)), now); until != "" {
			return "imported; compressed from " + until, nil
		}
	}
	return "", nil
}

// skippedGroup reports a group that was not merged.
func skippedGroup(space string, members []*memory.Memory, reason string) Group {
	g := Group{Space: space, Category: members[0].Category, Reason: reason}
	for _, m := range members {
		g.Originals = append(g.Originals, m.ID)
	}
	return g
}
