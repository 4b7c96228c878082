package store

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Tx is a transaction. It is valid only inside the function given to Update. Its reads see its own writes.
type Tx struct {
	space    *spaceState
	now      time.Time
	lsn      int64
	salt     string
	interned *interner
	readOnly bool
	// checkAppend says whether a log (by date) or a session (by id) can be added to; see Store.checkAppend.
	checkAppend func(date, session string) error
	// salts of all forgotten values; nil until they are needed.
	salts    []string
	changes  []journal.Change
	outcomes []journal.Outcome
	unused   []journal.MemoryChange // room that Expect made

	// memories, and all that follows, is what the transaction changed itself. nil maps until the first change; a nil
	// memory or day was removed, and a zero time in forgot is an unforgotten value.
	memories map[string]*memory.Memory // nil: removed
	equal    map[string]string         // id by category and normalised content; nil until somebody asks
	days     map[string]*memory.Day    // nil: removed
	archive  map[string]*memory.Archived
	sessions map[string]*memory.Session
	forgot   map[string]time.Time // zero: no longer forgotten
	summary  *string
}

// NewID returns a fresh id that sorts by time: a UUIDv7 (RFC 9562).
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Now is the time of the operation.
func (tx *Tx) Now() time.Time { return tx.now }

// LSN is the number the operation will have.
func (tx *Tx) LSN() int64 { return tx.lsn }

// ReadOnly reports whether the operation is refused when it changes memories, forgotten values or the summary: the
// space is one that this machine only receives.
func (tx *Tx) ReadOnly() bool { return tx.readOnly }

// Summary is the newest rolling summary.
func (tx *Tx) Summary() string {
	if tx.summary != nil {
		return *tx.summary
	}
	return tx.space.summary
}

// SetSummary replaces the rolling summary. An equal text changes nothing.
func (tx *Tx) SetSummary(text string) {
	if before := tx.Summary(); before != text {
		tx.changes = append(tx.changes, journal.Change{Summary: &journal.SummaryChange{Before: before, After: text}})
		tx.summary = &text
	}
}

// Report adds to Result.Outcomes, which the receipt of the request's key repeats.
func (tx *Tx) Report(o journal.Outcome) { tx.outcomes = append(tx.outcomes, o) }

// Changes lists what the transaction has changed so far, in order.
func (tx *Tx) Changes() []journal.Change { return slices.Clone(tx.changes) }
