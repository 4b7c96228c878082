package store

import (
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
)

// SameDay returns a *memory.StaleError unless the daily log of date is at revision; 0 is that there is none. A transaction that changes entries
// it was shown before must ask.
func (tx *Tx) SameDay(date string, revision int64) error { return tx.sameDay(date, revision) }

// ChangeEntry replaces an entry of a daily log; no after removes it. before is what it is now: see SameDay. Nothing is done when they are
// the same. Returns an *memory.InvalidError when after does not hold to the limits.
func (tx *Tx) ChangeEntry(date string, before, after *memory.Entry) error {
	if same(before, after) {
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

// SetForgotten records the hash of a forgotten value as a file has it; a zero time takes it back.
func (tx *Tx) SetForgotten(hash string, at time.Time) {
	if before, _ := tx.forgottenAt(hash); !before.Equal(at) {
		tx.setForgotten(journal.ForgottenChange{Hash: hash, Before: before, After: at})
	}
}

// Changes lists what the transaction has changed so far.
func (tx *Tx) Changes() []journal.Change { return slices.Clone(tx.changes) }

// ForgottenAt says when a hash was forgotten, false when it is not.
func (tx *Tx) ForgottenAt(hash string) (time.Time, bool) { return tx.forgottenAt(hash) }
