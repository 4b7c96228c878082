package journal

import (
	"encoding/json"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Record is one line of the journal. One operation is one record, or several records with the same Op when one line
// would be too long; an operation is applied whole or not at all.
//
// A record is absolute: its changes hold the state before and after, so that applying, undoing and listing need nothing
// else, and applying one twice is the same as once. Only access counts are increments.
type Record struct {
	LSN   int64 `json:"lsn"`             // position in the journal: 1, 2, 3 … without gaps
	Group int64 `json:"group"`           // LSN of the first record written and synced together with this one
	Op    int64 `json:"op"`              // LSN of the operation's first record: the operation's number
	Parts int   `json:"parts,omitempty"` // number of records of the operation when there are several
	// At is when the operation was staged, by the wall clock, in UTC.
	At time.Time `json:"at"`
	// Origin is the epoch in which the record was written; see Journal.Epoch.
	Origin string `json:"origin"`
	Space  string `json:"space"`
	Actor  string `json:"actor"`
	Reason string `json:"reason,omitempty"`

	Session string   `json:"session,omitempty"` // session the operation belongs to
	Undoes  int64    `json:"undoes,omitempty"`  // operation this one is the inverse of
	Receipt *Receipt `json:"receipt,omitempty"`
	Purge   *Purge   `json:"purge,omitempty"` // set when the operation erased something for good

	Changes []Change `json:"changes,omitempty"`
}

// Purge says how much a purge was asked to erase. It never holds what was erased.
type Purge struct {
	Memories    int  `json:"memories,omitempty"`
	Texts       int  `json:"texts,omitempty"` // given beside the contents of the memories
	Transcripts bool `json:"transcripts,omitempty"`
}

// Receipt lets a repeated request with the same idempotency key return the first result.
type Receipt struct {
	Key         string    `json:"key"`
	Fingerprint string    `json:"fingerprint"` // hash of the request, so that a key is not reused for another one
	Outcomes    []Outcome `json:"outcomes,omitempty"`
}

// Outcome is the result of one item of a write.
type Outcome struct {
	ID     string `json:"id,omitempty"`
	Status string `json:"status"`           // one of the Outcome constants
	Reason string `json:"reason,omitempty"` // why it was rejected, or what it duplicates; UPPER_SNAKE

	// What was taken out of the item. Not recorded: a receipt repeats what was decided, and the places belong to a text
	// that nobody kept.
	Redactions []memory.Redaction `json:"-"`
}

// The values of Outcome.Status.
const (
	Applied   = "applied"
	Duplicate = "duplicate"
	Rejected  = "rejected"
)

// Actors name who asked for an operation.
const (
	ActorClient      = "client"
	ActorReflect     = "reflect"
	ActorConsolidate = "consolidate"
	ActorArchive     = "archive"
	ActorUndo        = "undo"
	ActorAdopt       = "adopt"
	ActorSession     = "session"
	ActorDaemon      = "daemon"
	ActorImport      = "import"
	ActorEdit        = "edit"  // somebody edited a published file
	ActorView        = "view"  // somebody edited a file of a view
	ActorShare       = "share" // another machine, through the log of a shared space
)

// Change is one change of one thing. Exactly one field is set.
type Change struct {
	Memory    *MemoryChange    `json:"memory,omitempty"`
	Entry     *EntryChange     `json:"entry,omitempty"`
	Day       *DayChange       `json:"day,omitempty"`
	Summary   *SummaryChange   `json:"summary,omitempty"`
	Forgotten *ForgottenChange `json:"forgotten,omitempty"`
	Session   *SessionChange   `json:"session,omitempty"`
	Message   *MessageChange   `json:"message,omitempty"`
	Access    *AccessChange    `json:"touch,omitempty"`
	Archive   *ArchiveChange   `json:"archive,omitempty"`
	Drop      *DropChange      `json:"drop,omitempty"`
}

// DropChange takes a whole space out of the store, because somebody else has it. It is no deletion: nothing of the
// space was changed. What the store had of it is as if it had never been there.
type DropChange struct{}

// MemoryChange creates (no Before), changes or removes (no After) a memory.
type MemoryChange struct {
	ID     string         `json:"id"`
	Prior  int64          `json:"prior,omitempty"` // operation that removed an earlier memory of this id
	Before *memory.Memory `json:"before,omitempty"`
	After  *memory.Memory `json:"after,omitempty"`
	Purged bool           `json:"purged,omitempty"` // what was before is erased and cannot come back

	// Text is After in the journal form, but without a revision, where somebody else has encoded it already. Stage uses
	// it, and drops it.
	Text json.RawMessage `json:"-"`
}

// EntryChange creates, changes or removes an entry of a daily log.
type EntryChange struct {
	Date   string        `json:"date"`
	ID     string        `json:"id"`
	Before *memory.Entry `json:"before,omitempty"`
	After  *memory.Entry `json:"after,omitempty"`
	Purged bool          `json:"purged,omitempty"` // as in a MemoryChange
}

// DayChange changes what a daily log says of itself; no After removes the day with all its entries,
// each of which has an EntryChange of its own in the same operation.
type DayChange struct {
	Date   string      `json:"date"`
	Before *memory.Day `json:"before,omitempty"`
	After  *memory.Day `json:"after,omitempty"`
	Purged bool        `json:"purged,omitempty"` // as in a MemoryChange
}

// SummaryChange replaces the rolling summary of the space.
type SummaryChange struct {
	Before string `json:"before"`
	After  string `json:"after"`
	Purged bool   `json:"purged,omitempty"` // as in a MemoryChange
}

// ForgottenChange adds (no Before) or removes (no After) the hash of a forgotten value.
type ForgottenChange struct {
	Hash   string    `json:"hash"`
	Before time.Time `json:"before,omitzero"`
	After  time.Time `json:"after,omitzero"`
}

// SessionChange creates, changes or removes a session's header.
type SessionChange struct {
	ID     string          `json:"id"`
	Before *memory.Session `json:"before,omitempty"`
	After  *memory.Session `json:"after,omitempty"`
}

// MessageChange appends a message to a session.
type MessageChange struct {
	Session string          `json:"session"`
	Message *memory.Message `json:"message"`
}

// AccessChange adds accesses to a memory.
type AccessChange struct {
	ID    string    `json:"id"`
	Count int64     `json:"count"`
	At    time.Time `json:"at"` // of the newest access

	// Before and After are the memory without and with these accesses, so that all states and projections share one
	// copy. They are not encoded, and a decoded record has neither.
	Before *memory.Memory `json:"-"`
	After  *memory.Memory `json:"-"`
}

// Apply returns m with the accesses added. It does not change m. Callers share the result and must not change it.
func (t *AccessChange) Apply(m *memory.Memory) *memory.Memory {
	if t.After != nil && t.Before == m {
		return t.After
	}
	accessed, last := *m, m.LastAccessed()
	if t.At.After(last) {
		last = t.At
	}
	accessed.SetAccesses(m.AccessCount()+t.Count, last)
	return &accessed
}

// ArchiveChange creates, changes or removes the record of an archived log.
type ArchiveChange struct {
	ID     string           `json:"id"`
	Before *memory.Archived `json:"before,omitempty"`
	After  *memory.Archived `json:"after,omitempty"`
}
