package archiver

import (
	"context"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// delete removes an archived log as one operation, whose journal record keeps the entries. A log with entries that
// were not archived is not deleted. A dry run assumes that the preceding archiving succeeded.
func (r *run) delete(ctx context.Context, out Day) (Day, error) {
	out.Action = Delete
	if r.opts.DryRun {
		return out, nil
	}
	day, entries, err := r.a.store.Space(out.Space).Log(out.Date)
	if err != nil {
		return out, err
	}
	// An entry may have been added after the archiving; it has no summary yet.
	if !isFullyArchived(day, entries) {
		return out, &memory.StaleError{Kind: "log", Name: out.Date, Expected: day.Revision, Current: day.Revision}
	}
	out.Entries = len(entries)
	meta := store.Meta{Space: out.Space, Actor: journal.ActorArchive, Reason: "delete archived log " + out.Date}
	res, err := r.a.store.Update(ctx, meta, func(tx *store.Tx) error {
		if tx.Day(day.Date) == nil {
			return &memory.NotFoundError{Kind: "log", Name: day.Date}
		}
		tx.LogDeleted(memory.Archived{Date: day.Date, Entries: len(entries), Summary: day.Summary})
		return tx.RemoveDay(day, entries)
	})
	if err != nil {
		return out, err
	}
	out.Op = res.Op
	return out, nil
}
