package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// Reasons of what an undo left alone.
const (
	ReasonChangedSince = "CHANGED_SINCE" // something later changed it
	ReasonNothingToDo  = "NOTHING_TO_DO" // it is already as it was before the operation
)

// Undo appends the inverse of operation op. An Outcome with Status Rejected names each thing it left alone and why. Accesses counted
// meanwhile are kept; messages and the marks of sessions are not taken back, save for a session that
// was imported.
//
// Durable on return. Errors: memory.ErrNotUndoable when nothing of it can be taken back, memory.ErrNotFound, memory.ErrTrimmed.
func (s *Store) Undo(ctx context.Context, meta Meta, op int64) (Result, error) {
	rec, err := s.journal.Operation(op)
	if err != nil {
		return Result{}, err
	}
	if rec.Purge != nil {
		return Result{}, fmt.Errorf("operation %d erased for good: %w", rec.Op, memory.ErrNotUndoable)
	}
	meta.Space = rec.Space
	meta.Actor = journal.ActorUndo
	if meta.Reason == "" {
		meta.Reason = fmt.Sprintf("undo of operation %d", rec.Op)
	}
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

// undo is one attempt at taking an operation back.
type undo struct {
	rec     *journal.Record
	days    map[string]int64 // revision at which the entries were read, 0 for no such day
	entries map[string]map[string]*memory.Entry
	touched []string // days
	undone  int
	left    int
}

// readLogs reads the daily logs concerned, which a transaction must not do.
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

func (u *undo) run(tx *Tx) error {
	for date, revision := range u.days {
		if err := tx.sameDay(date, revision); err != nil {
			return err
		}
	}
	// Entries of a removed day come back in their order; everything else is taken back last first.
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
		at, _ := tx.forgottenAt(c.Forgotten.Hash)
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

func (u *undo) memory(tx *Tx, c *journal.MemoryChange) error {
	current := tx.Memory(c.ID)
	switch {
	case c.Purged:
		u.report(tx, c.ID, ReasonPurged)
		return nil
	case sameMemory(current, c.Before):
		u.report(tx, c.ID, ReasonNothingToDo)
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
		back.AccessCount, back.LastAccessed = current.AccessCount, current.LastAccessed
	}
	return tx.Put(back)
}

// session takes an imported session out again, with its messages. No other operation's session is taken back.
func (u *undo) session(tx *Tx, c *journal.SessionChange) {
	current := tx.Session(c.ID)
	switch {
	case same(current, c.Before):
		u.report(tx, c.ID, ReasonNothingToDo)
	case !same(current, c.After):
		u.report(tx, c.ID, ReasonChangedSince)
	default:
		tx.removeSession(c.ID)
		u.report(tx, c.ID, "")
	}
}

func (u *undo) entry(tx *Tx, c *journal.EntryChange) {
	current := u.entries[c.Date][c.ID]
	switch {
	case c.Purged:
		u.report(tx, c.ID, ReasonPurged)
	case same(current, c.Before):
		u.report(tx, c.ID, ReasonNothingToDo)
	case !same(current, c.After):
		u.report(tx, c.ID, ReasonChangedSince)
	default:
		tx.putEntry(c.Date, current, c.Before)
		u.touched = append(u.touched, c.Date)
		u.report(tx, c.ID, "")
	}
}

func (u *undo) day(tx *Tx, c *journal.DayChange) {
	if c.Purged {
		u.report(tx, c.Date, ReasonPurged)
		return
	}
	// A day that is not there is the same as one of which nothing is said. The entries of a removed day are back by now.
	u.touched = append(u.touched, c.Date)
	none := &memory.Day{Date: c.Date}
	current, before, after := cmp.Or(tx.Day(c.Date), none), cmp.Or(c.Before, none), cmp.Or(c.After, none)
	if current.Summary != after.Summary || current.Archived != after.Archived {
		u.report(tx, c.Date, ReasonChangedSince)
		return
	}
	tx.SetDay(before)
	u.report(tx, c.Date, "")
}

// archived takes the record of an archived log back. It is derived from what else the operation did, and goes with it.
func (u *undo) archived(tx *Tx, c *journal.ArchiveChange) {
	if same(tx.ArchivedAs(c.ID), c.After) {
		tx.setArchived(c.ID, c.Before)
	}
}

// removeEmptyDays takes away the days of which nothing is left.
func (u *undo) removeEmptyDays(tx *Tx) {
	for _, date := range u.touched {
		if d := tx.Day(date); d != nil && d.Entries == 0 && d.Summary == "" && !d.Archived && len(d.Extra) == 0 {
			tx.changes = append(tx.changes, journal.Change{Day: &journal.DayChange{Date: date, Before: d}})
			tx.setDay(date, nil)
		}
	}
}

func (u *undo) report(tx *Tx, id, reason string) {
	if reason == "" {
		u.undone++
		tx.Report(journal.Outcome{ID: id, Status: journal.Applied})
		return
	}
	u.left++
	tx.Report(journal.Outcome{ID: id, Status: journal.Rejected, Reason: reason})
}

// sameMemory compares two memories, either may be nil, but for what every change or access sets anew.
func sameMemory(a, b *memory.Memory) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	for _, m := range []*memory.Memory{&x, &y} {
		m.Revision, m.UpdatedAt = 0, m.CreatedAt
		m.AccessCount, m.LastAccessed = 0, m.CreatedAt
	}
	return same(&x, &y)
}

// same compares two values of the journal by their JSON; nil is equal to nil only.
func same[T any](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
