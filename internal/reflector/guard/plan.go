package guard

import (
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Action is the kind of change that an item proposes.
type Action string

// The actions.
const (
	Add Action = "ADD"
	// keeps the id; the old text stays in the history
	Update Action = "UPDATE"
	// retires the memory, which can be restored; with a text, that becomes a memory that supersedes it
	Delete Action = "DELETE"
	// the content is known; nothing changes
	Noop Action = "NOOP"
)

// MaxItems is the maximum number of changes per plan; NOOPs do not count.
const MaxItems = 64

// Item is one proposal.
type Item struct {
	Action Action
	// id of the memory to change; for a NOOP, of the memory that says the same
	Target string
	// revision of the target that the proposal is based on
	TargetRevision int64

	// Memory is the new memory of an ADD; empty category, source and confidence get defaults. For an UPDATE, non-zero
	// content, category, salience, title, context and confidence replace those of the target; tags and evidence are
	// added to the target's. For a DELETE it is the memory that supersedes the target; without content there is none.
	Memory memory.Memory

	// ReplacedBy is, for a DELETE without content, the known memory that supersedes the target; "" for none.
	ReplacedBy string

	// Unsure leaves the retirement of a DELETE to a person. Its text becomes a memory all the same.
	Unsure bool

	// UPPER_SNAKE name of the rule that proposed the item, or of a NOOP's cause
	Reason string

	// Model is true for proposals of a language model: stricter guards apply, and Replaces is ignored.
	Model bool

	// SourceSentence is the sentence that the memory was learnt from, if it differs from the content. It is not
	// stored. It is checked against forgotten values, so a value forgotten in one form is not learnt in the other.
	SourceSentence string

	// Said is, for a model's item, what the user or the agent said: the only source of new values, and the words by
	// which a text that is cut off is known. It is not stored.
	Said string

	// Replaces lists the protected tokens of the target that this UPDATE replaces on purpose: numbers and names in
	// lower case, "-" for a negation. Only code that compared both statements may set it, never a model's reply.
	Replaces []string

	// Refused is why the item must not be kept, found by code that saw more than the guards do; "" for no reason.
	Refused string

	// Keep stores what looks like a secret, because the caller insists on it.
	Keep bool
}

// DatedEntry is an entry for the daily log of a date, "2026-02-21".
type DatedEntry struct {
	Date  string
	Entry memory.Entry
	Keep  bool // what only looks like a secret stays, because somebody insists on it
}

// Plan is what one session or one request proposes. The zero value proposes nothing.
type Plan struct {
	Space   string
	Session string
	Items   []Item
	// log entries to append; they are redacted and cut, never rejected
	Entries []DatedEntry
	// memory.Source constant for items without a source
	Source string

	// At is the time of the review items that Apply writes, in the zone of the daily logs. Zero writes none.
	At time.Time
	// Reviewed are earlier proposals about the same memories, decided or not. Equal proposals are not written again.
	Reviewed []*Proposal
}

// Targets returns the ids of the memories that items would change.
func (p *Plan) Targets() (ids []string) {
	for _, item := range p.Items {
		if item.Action == Update || item.Action == Delete {
			ids = append(ids, item.Target)
		}
	}
	return ids
}

// View is the state of a space that the guards read. *store.Tx implements it.
type View interface {
	Memory(id string) *memory.Memory               // nil when there is none
	Equal(category, content string) *memory.Memory // an active memory with the same content, nil when there is none
	IsForgotten(content string) bool
	ReadOnly() bool // nothing can be changed
}

// Rejection is a rejected item with its reason.
type Rejection struct {
	Index int // into Plan.Items
	Item  Item
	// a Reason constant, or the reason of a memory.Violation
	Reason string
}

// ReviewPrefix starts the reasons of items that are left to a person.
const ReviewPrefix = "REVIEW_"

// Reasons of rejected and duplicate items.
const (
	ReasonTooMany       = "TOO_MANY_OPERATIONS"
	ReasonUnknownAction = "UNKNOWN_ACTION"
	ReasonFromTool      = "FROM_TOOL_OUTPUT" // the text repeats what a tool told the agent to do, or a page
	ReasonNotShown      = "TARGET_NOT_SHOWN"
	ReasonUnknownTarget = "TARGET_UNKNOWN"
	ReasonInactive      = "TARGET_NOT_ACTIVE"
	ReasonTwice         = "TARGET_TWICE"
	ReasonStale         = "TARGET_CHANGED"
	ReasonPinned        = "TARGET_PINNED"
	ReasonEmptied       = "EMPTIED"
	ReasonForgotten     = "FORGOTTEN"
	ReasonSecret        = "SECRET"
	ReasonReadOnly      = "READ_ONLY_SPACE" // the space is only received on this machine
	ReasonLostNumber    = "REVIEW_LOST_NUMBER"
	ReasonLostName      = "REVIEW_LOST_NAME"
	ReasonLostNegation  = "REVIEW_LOST_NEGATION"
	// the text may replace another memory: a person decides
	ReasonUnsure         = "REVIEW_REPLACEMENT"
	ReasonExactDuplicate = "EXACT_DUPLICATE" // an active memory of the category has the same text
	ReasonNearDuplicate  = "NEAR_DUPLICATE"  // of a Duplicate outcome
	ReasonUnchanged      = "UNCHANGED"       // of a Duplicate outcome
)

// Reasons of applied outcomes.
const (
	ReasonAdded   = "ADDED"
	ReasonUpdated = "UPDATED"
	ReasonRetired = "RETIRED"
	// the new memory supersedes a known one
	ReasonSuperseded = "SUPERSEDED"
	ReasonLogged     = "LOGGED"
)
