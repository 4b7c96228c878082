package store

import (
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Day returns the newest header of a daily log, nil when there is none.
func (tx *Tx) Day(date string) *memory.Day {
	if d, ok := tx.days[date]; ok {
		return d
	}
	if d := tx.space.days[date]; d != nil {
		return d.header
	}
	return nil
}

// AppendEntry appends to the daily log of date and creates the log if needed. An empty ID is filled in. The first
// append to a log since a start or a snapshot reads it. Errors: *memory.InvalidError when e exceeds the limits;
// memory.ErrCorrupt when what the snapshot holds of the log is damaged.
func (tx *Tx) AppendEntry(date string, e *memory.Entry) error {
	if e.ID == "" {
		e.ID = NewID()
	}
	var check memory.Check
	check.Date("date", date)
	check.Entry("", e)
	if err := check.Err(); err != nil {
		return err
	}
	if err := tx.checkAppend(date, ""); err != nil {
		return err
	}
	tx.putEntry(date, nil, e)
	return nil
}

// ChangeEntry replaces an entry of a daily log, or removes it when after is nil. before is its present content, which
// the caller read at a revision that it checks with CheckDayRevision. Equal entries change nothing. Error:
// *memory.InvalidError when after exceeds the limits.
func (tx *Tx) ChangeEntry(date string, before, after *memory.Entry) error {
	if equalJSON(before, after) {
		return nil
	}
	if after != nil {
		var check memory.Check
		check.Entry("", after)
		if err := check.Err(); err != nil {
			return err
		}
	}
	tx.putEntry(date, before, after)
	return nil
}

// putEntry creates (before is nil), replaces or removes (after is nil) an entry, and keeps the count in the day's
// header.
func (tx *Tx) putEntry(date string, before, after *memory.Entry) {
	id := ""
	if after != nil {
		id = after.ID
	} else {
		id = before.ID
	}
	tx.changes = append(tx.changes, journal.Change{Entry: &journal.EntryChange{Date: date, ID: id, Before: before,
		After: after}})
	header := memory.Day{Date: date}
	if d := tx.Day(date); d != nil {
		header = *d
	}
	header.Revision = tx.lsn
	if before == nil {
		header.Entries++
	}
	if after == nil {
		header.Entries--
	}
	tx.setDay(date, &header)
}

// SetDay replaces the summary, the archived flag and the unknown fields of a day. Other fields of d are ignored.
func (tx *Tx) SetDay(d *memory.Day) {
	before := tx.Day(d.Date)
	after := *d
	after.Revision, after.Entries = tx.lsn, 0
	if before != nil {
		after.Entries = before.Entries
	}
	tx.changes = append(tx.changes, journal.Change{
		Day: &journal.DayChange{Date: d.Date, Before: before, After: &after}})
	tx.setDay(d.Date, &after)
}

// RemoveDay removes a day and its entries, which the caller read at d.Revision. Error: *memory.StaleError when the day
// changed since.
func (tx *Tx) RemoveDay(d *memory.Day, entries []*memory.Entry) error {
	if err := tx.CheckDayRevision(d.Date, d.Revision); err != nil {
		return err
	}
	before := tx.Day(d.Date)
	for _, e := range entries {
		tx.putEntry(d.Date, e, nil)
	}
	tx.changes = append(tx.changes, journal.Change{Day: &journal.DayChange{Date: d.Date, Before: before}})
	tx.setDay(d.Date, nil)
	return nil
}

// CheckDayRevision returns a *memory.StaleError unless the daily log of date is at revision; 0 means that it must not
// exist. A transaction that changes entries which were read before it calls this first.
func (tx *Tx) CheckDayRevision(date string, revision int64) error {
	current := int64(0)
	if d := tx.Day(date); d != nil {
		current = d.Revision
	}
	if current != revision {
		return &memory.StaleError{Kind: "log", Name: date, Expected: revision, Current: current}
	}
	return nil
}

// setDay replaces the header that later reads of the transaction see.
func (tx *Tx) setDay(date string, d *memory.Day) {
	if tx.days == nil {
		tx.days = map[string]*memory.Day{}
	}
	tx.days[date] = d
}
