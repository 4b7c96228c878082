package memory

import (
	"encoding/json"
	"strconv"
	"time"
)

// Types of log entries the daemon writes itself. Other slugs are accepted.
const (
	EntryEvent          = "event"
	EntryAutoExtract    = "auto_extract"
	EntryReflection     = "reflection"
	EntryToolFailure    = "tool_failure"
	EntryCorrection     = "correction"
	EntrySessionSummary = "session_summary"
	EntryReview         = "review"    // a change that was proposed and not made: a person may want it
	EntrySkillRun       = "skill_run" // a workflow that worked
)

// Entry is one line of a daily log. Values in the store are immutable.
type Entry struct {
	ID       string    `json:"id"`
	Time     string    `json:"time"`        // local wall clock, "14:30:00"
	At       time.Time `json:"at,omitzero"` // the same instant with its UTC offset
	Type     string    `json:"type"`
	Content  string    `json:"content"`
	Category string    `json:"category,omitempty"`
	Tool     string    `json:"tool,omitempty"`
	Error    string    `json:"error,omitempty"`
	Session  string    `json:"session,omitempty"`

	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// ExtraStore is the extra field of an entry that another machine sent, with the short id of that machine's store.
const ExtraStore = "store"

// IsReceived reports whether another machine sent the entry. That machine learns from it, and no other.
func (e *Entry) IsReceived() bool { return len(e.Extra[ExtraStore]) > 0 }

// Instant is when the entry of a log of date was written. One without an instant of its own has a wall clock time in
// loc, and one without a time began the day.
func (e *Entry) Instant(date string, loc *time.Location) time.Time {
	if !e.At.IsZero() {
		return e.At
	}
	if t, err := time.ParseInLocation(time.DateTime, date+" "+e.Time, loc); err == nil {
		return t
	}
	t, _ := time.ParseInLocation(DateLayout, date, loc)
	return t
}

// Day is what is known of a daily log beside its entries.
type Day struct {
	Date     string `json:"date"`              // "2026-02-21", the daemon's local day when the entries were written
	Summary  string `json:"summary,omitempty"` // set when archived
	Archived bool   `json:"archived,omitempty"`
	Revision int64  `json:"revision,omitempty"` // LSN of the last change to the day or any entry
	Entries  int    `json:"entries"`            // number of entries

	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// DateLayout is the time layout of a daily log's date.
const DateLayout = time.DateOnly

// Archived is what is left of a daily log: the record of its archiving and, when that happened too, of its
// deletion. It outlives the log and the journal's history of it. Values in the store are immutable.
type Archived struct {
	ID        string    `json:"id"` // the date; DATE.2 and so on for a log begun anew after the one before was deleted
	Date      string    `json:"date"`
	Entries   int       `json:"entries"` // number of entries archived
	Summary   string    `json:"summary,omitempty"`
	Promoted  []string  `json:"promoted,omitempty"` // memories made of it, that of its summary among them
	At        time.Time `json:"archived_at"`
	Op        int64     `json:"archive_operation"`
	DeletedAt time.Time `json:"deleted_at,omitzero"`
	DeletedOp int64     `json:"delete_operation,omitempty"`
}

// Deleted reports whether the log is gone.
func (a *Archived) Deleted() bool { return !a.DeletedAt.IsZero() }

// ArchivedID is the id of the nth record of a date, n counting from 1.
func ArchivedID(date string, n int) string {
	if n == 1 {
		return date
	}
	return date + "." + strconv.Itoa(n)
}
