package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Reasons of outcomes of what an undo left alone.
const (
	ReasonChangedSince = "CHANGED_SINCE" // something later changed it
	ReasonUnchanged    = "UNCHANGED"     // it is already as it was before the operation
)

// Undo appends the inverse of operation op. An Outcome with status Rejected names each thing that it left alone, and
// why. Access counts keep what was counted since. Messages and session headers are not undone, except for sessions that
// were imported.
//
// Durable on return. Errors: memory.ErrNotUndoable when nothing of the operation can be undone, memory.ErrNotFound,
// memory.ErrTrimmed.
func (s *Store) Undo(ctx context.Context, meta Meta, op int64) (Result, error) {
	rec, err := s.journal.Operation(op)
	if err != nil {
		return Result{}, err
	}
	if rec.Purge != nil {
		return Result{}, fmt.Errorf("operation %d is a purge: %w", rec.Op, memory.ErrNotUndoable)
	}
	meta.Space = rec.Space
	meta.Actor = journal.ActorUndo
	if meta.Reason == "" {
		meta.Reason = fmt.Sprintf("undo of operation %d", rec.Op)
	}
	// The logs are read outside the transaction; when they changed in between, everything is read again.
	for range 3 {
		u := undo{rec: rec, days: map[string]int64{}, entries: map[string]map[string]*memory.Entry{}}
		if err = u.readLogs(s.Space(rec.Space)); err != nil {
			return Result{}, err
		}
		var res Result
		if res, err = s.update(ctx, meta, rec.Op, u.run); !errors.Is(err, memory.ErrStale) {
			return res, err
		}
	}
	return Result{}, err
}

// undo is one attempt at undoing an operation. It is repeated when a daily log changed between its read and the
// transaction.
type undo struct {
	rec *journal.Record
	// days are the revisions at which the entries were read, 0 for a day that does not exist.
	days    map[string]int64
	entries map[string]map[string]*memory.Entry
	// changedDays are the days of which an entry or the header was changed.
	changedDays []string
	undone      int
	left        int
}

// readLogs reads the daily logs concerned, because a transaction must do no I/O.
func (u *undo) readLogs(v *Space) error {
	for _, c := range u.rec.Changes {
		if c.Entry == nil {
			continue
		}
		date := c.Entry.Date
		if _, done := u.days[date]; done {
			continue
		}
		header, entries, err := v.Log(date)
		if err != nil && !errors.Is(err, memory.ErrNotFound) {
			return err
		}
		u.days[date], u.entries[date] = 0, map[string]*memory.Entry{}
		if header != nil {
			u.days[date] = header.Revision
		}
		for _, e := range entries {
			u.entries[date][e.ID] = e
		}
	}
	return nil
}

// run is the transaction of the undo.
func (u *undo) run(tx *Tx) error {
	for date, revision := range u.days {
		if err := tx.CheckDayRevision(date, revision); err != nil {
			return err
		}
	}
	// Entries first and in order, so that those of a removed day return in their order. Everything else in reverse.
	for i := range u.rec.Changes {
		if c := u.rec.Changes[i].Entry; c != nil {
			u.entry(tx, c)
		}
	}
	for i := len(u.rec.Changes) - 1; i >= 0; i-- {
		if err := u.change(tx, &u.rec.Changes[i]); err != nil {
			return err
		}
	}
	u.removeEmptyDays(tx)
	if u.undone == 0 && u.left == 0 {
		return fmt.Errorf("operation %d holds only accesses, messages or marks: %w", u.rec.Op, memory.ErrNotUndoable)
	}
	return nil
}

// change undoes one change, except that of an entry.
func (u *undo) change(tx *Tx, c *journal.Change) error {
	switch {
	case c.Memory != nil:
		return u.memory(tx, c.Memory)
	case c.Day != nil:
		u.day(tx, c.Day)
	case c.Archive != nil:
		u.archived(tx, c.Archive)
	case c.Summary != nil:
		if c.Summary.Purged {
			u.report(tx, "rolling_summary", ReasonPurged)
			return nil
		}
		if tx.Summary() != c.Summary.After {
			u.report(tx, "rolling_summary", ReasonChangedSince)
			return nil
		}
		tx.SetSummary(c.Summary.Before)
		u.report(tx, "rolling_summary", "")
	case c.Forgotten != nil:
		at, _ := tx.ForgottenAt(c.Forgotten.Hash)
		if !at.Equal(c.Forgotten.After) {
			u.report(tx, "forgotten", ReasonChangedSince)
			return nil
		}
		tx.setForgotten(journal.ForgottenChange{Hash: c.Forgotten.Hash, Before: at, After: c.Forgotten.Before})
		u.report(tx, "forgotten", "")
	case c.Session != nil && u.rec.Actor == journal.ActorImport:
		u.session(tx, c.Session)
	}
	return nil
}

// memory restores a memory that is still as the operation left it.
func (u *undo) memory(tx *Tx, c *journal.MemoryChange) error {
	current := tx.Memory(c.ID)
	switch {
	case c.Purged:
		u.report(tx, c.ID, ReasonPurged)
		return nil
	// Somebody has undone it already: an answer, not an error.
	case sameMemory(current, c.Before):
		u.report(tx, c.ID, ReasonUnchanged)
		return nil
	case !sameMemory(current, c.After):
		u.report(tx, c.ID, ReasonChangedSince)
		return nil
	}
	u.report(tx, c.ID, "")
	if c.Before == nil {
		tx.Remove(c.ID)
		return nil
	}
	back := c.Before.Clone()
	if current != nil {
		// Accesses are observations, which no undo makes unhappen.
		back.SetAccesses(current.AccessCount(), current.LastAccessed())
	}
	return tx.PutKnown(back, back.ContentAt())
}

// session removes an imported session with its messages, or restores the header that the import replaced.
func (u *undo) session(tx *Tx, c *journal.SessionChange) {
	current := tx.Session(c.ID)
	switch {
	case equalJSON(current, c.Before):
		u.report(tx, c.ID, ReasonUnchanged)
	case !equalJSON(current, c.After):
		u.report(tx, c.ID, ReasonChangedSince)
	default:
		tx.removeSession(c.ID)
		u.report(tx, c.ID, "")
	}
}

// entry restores a log entry that is still as the operation left it.
func (u *undo) entry(tx *Tx, c *journal.EntryChange) {
	current := u.entries[c.Date][c.ID]
	switch {
	case c.Purged:
		u.report(tx, c.ID, ReasonPurged)
	case equalJSON(current, c.Before):
		u.report(tx, c.ID, ReasonUnchanged)
	case !equalJSON(current, c.After):
		u.report(tx, c.ID, ReasonChangedSince)
	default:
		tx.putEntry(c.Date, current, c.Before)
		u.changedDays = append(u.changedDays, c.Date)
		u.report(tx, c.ID, "")
	}
}

// day restores the summary and the archived flag of a day.
func (u *undo) day(tx *Tx, c *journal.DayChange) {
	if c.Purged {
		u.report(tx, c.Date, ReasonPurged)
		return
	}
	// A missing day equals an empty one. By now the entries of a removed day are back.
	u.changedDays = append(u.changedDays, c.Date)
	none := &memory.Day{Date: c.Date}
	current, before, after := cmp.Or(tx.Day(c.Date), none), cmp.Or(c.Before, none), cmp.Or(c.After, none)
	if current.Summary != after.Summary || current.Archived != after.Archived {
		u.report(tx, c.Date, ReasonChangedSince)
		return
	}
	tx.SetDay(before)
	u.report(tx, c.Date, "")
}

// archived restores the record of an archived log. It follows from the rest of the operation, so it has no outcome. It
// counts all the same: an undo of a deletion may have changed nothing else.
func (u *undo) archived(tx *Tx, c *journal.ArchiveChange) {
	if !equalJSON(tx.ArchivedAs(c.ID), c.After) {
		u.left++
		return
	}
	tx.setArchived(c.ID, c.Before)
	u.undone++
}

// removeEmptyDays removes the changed days of which nothing is left.
func (u *undo) removeEmptyDays(tx *Tx) {
	for _, date := range u.changedDays {
		if d := tx.Day(date); d != nil && d.Entries == 0 && d.Summary == "" && !d.Archived && len(d.Extra) == 0 {
			tx.changes = append(tx.changes, journal.Change{Day: &journal.DayChange{Date: date, Before: d}})
			tx.setDay(date, nil)
		}
	}
}

// report records the outcome of one thing; an empty reason means that it was undone.
func (u *undo) report(tx *Tx, id, reason string) {
	if reason == "" {
		u.undone++
		tx.Report(journal.Outcome{ID: id, Status: journal.Applied})
		return
	}
	u.left++
	tx.Report(journal.Outcome{ID: id, Status: journal.Rejected, Reason: reason})
}

// sameMemory compares two memories, either may be nil, without the fields that every change or access sets.
func sameMemory(a, b *memory.Memory) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	for _, m := range []*memory.Memory{&x, &y} {
		m.Revision, m.UpdatedAt = 0, m.CreatedAt
		m.SetContentAt(m.CreatedAt)
		m.SetAccesses(0, m.CreatedAt)
	}
	return equalJSON(&x, &y)
}

// equalJSON compares two values by their JSON. nil equals nil only.
func equalJSON[T any](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
