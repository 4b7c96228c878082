package archiver

import (
	"context"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// delete removes an archived log as one operation, which holds all that was in it. Nothing is deleted of which not every
// entry was archived; in a dry run, the archiving that would come first is taken as done.
func (r *run) delete(ctx context.Context, out Day) (Day, error) {
	out.Action = Delete
	if r.opts.DryRun {
		return out, nil
	}
	day, entries, err := r.a.store.Space(out.Space).Log(out.Date)
	if err != nil {
		return out, err
	}
	if !settled(day, entries) {
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
