package store

import (
	"cmp"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Archived lists the records of archived logs, by date and, of one date, oldest first.
func (v *Space) Archived() (out []*memory.Archived) {
	v.read(func(sp *spaceState) { out = sp.archived() })
	return out
}

// ArchivedOn lists the records of one date, oldest first.
func (v *Space) ArchivedOn(date string) []*memory.Archived {
	return slices.DeleteFunc(v.Archived(), func(r *memory.Archived) bool { return r.Date != date })
}

// ArchiveRevision is the LSN of the newest operation that changed a record of an archived log, 0 when none did.
func (v *Space) ArchiveRevision() (lsn int64) {
	v.read(func(sp *spaceState) { lsn = sp.archiveRevision })
	return lsn
}

// ArchivedAs returns the newest state of a record, nil when there is none.
func (tx *Tx) ArchivedAs(id string) *memory.Archived {
	if r, ok := tx.archive[id]; ok {
		return r
	}
	return tx.space.archive[id]
}

// LogArchived records that this operation archives a log. It replaces the record of an archived log that still exists.
// If the log of that date was deleted since, its record stays and a second one begins.
func (tx *Tx) LogArchived(r memory.Archived) {
	n := 1
	for last := tx.ArchivedAs(memory.ArchivedID(r.Date, n)); last != nil &&
		last.Deleted(); last = tx.ArchivedAs(memory.ArchivedID(r.Date, n)) {
		n++
	}
	r.ID, r.At, r.Op = memory.ArchivedID(r.Date, n), tx.now, tx.lsn
	if last := tx.ArchivedAs(r.ID); last != nil {
		r.Promoted = slices.Concat(last.Promoted, slices.DeleteFunc(slices.Clone(r.Promoted), func(id string) bool {
			return slices.Contains(last.Promoted, id)
		}))
	}
	tx.setArchived(r.ID, &r)
}

// LogDeleted records that this operation deletes an archived log. found becomes its record if it was archived elsewhere
// and has none.
func (tx *Tx) LogDeleted(found memory.Archived) {
	if n, known := tx.setDeleted(found.Date); !known {
		found.ID, found.At, found.Op, found.DeletedAt, found.DeletedOp = memory.ArchivedID(found.Date, n), tx.now,
			tx.lsn, tx.now, tx.lsn
		tx.setArchived(found.ID, &found)
	}
}

// LogGone records that this operation deletes the log of a date, if it was archived.
func (tx *Tx) LogGone(date string) { tx.setDeleted(date) }

// setDeleted sets the deletion on the records of a date whose log exists. It returns whether there were any, and the
// number of the next record of that date.
func (tx *Tx) setDeleted(date string) (next int, known bool) {
	next = 1
	for last := tx.ArchivedAs(memory.ArchivedID(date, next)); last != nil; last = tx.ArchivedAs(
		memory.ArchivedID(date, next)) {
		if !last.Deleted() {
			r := *last
			r.DeletedAt, r.DeletedOp = tx.now, tx.lsn
			tx.setArchived(r.ID, &r)
			known = true
		}
		next++
	}
	return next, known
}

// PutArchived adds a record from a file. A record that exists already stays as it is.
func (tx *Tx) PutArchived(r *memory.Archived) {
	if tx.ArchivedAs(r.ID) == nil {
		tx.setArchived(r.ID, r)
	}
}

// setArchived replaces a record; a nil after removes it.
func (tx *Tx) setArchived(id string, after *memory.Archived) {
	tx.changes = append(tx.changes, journal.Change{Archive: &journal.ArchiveChange{ID: id, Before: tx.ArchivedAs(id),
		After: after}})
	if tx.archive == nil {
		tx.archive = map[string]*memory.Archived{}
	}
	tx.archive[id] = after
}

// setArchived applies the change of a record; op is the operation that makes it.
func (sp *spaceState) setArchived(c *journal.ArchiveChange, op int64) {
	sp.archiveRevision = op
	if c.After == nil {
		delete(sp.archive, c.ID)
		return
	}
	put(&sp.archive, c.ID, c.After)
}

// archived returns the records by date and, of one date, by number: ids of one date differ in their numeric suffix, so
// a longer id is a later one.
func (sp *spaceState) archived() []*memory.Archived {
	out := make([]*memory.Archived, 0, len(sp.archive))
	for _, r := range sp.archive {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *memory.Archived) int {
		return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return out
}
