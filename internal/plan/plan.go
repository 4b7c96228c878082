// Package plan is the only way learning changes memories: whoever proposes (deterministic rules or a language model)
// writes a Plan, Guard decides what of it is allowed, Apply makes that part of one operation. It proposes nothing
// from a conversation by itself and knows no model.
package plan

import (
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Action is what an item asks for.
type Action string

// The actions.
const (
	Add    Action = "ADD"
	Update Action = "UPDATE" // of the same id; the old text stays in the history
	Delete Action = "DELETE" // retires, which is restorable
	Noop   Action = "NOOP"   // known already
)

// MaxItems is how many operations of one plan are carried out; NOOPs do not count.
const MaxItems = 64

// Item is one proposal.
type Item struct {
	Action         Action
	Target         string // id of the memory to change, or of the one that makes this a NOOP
	TargetRevision int64  // the revision of the target that the proposer was shown

	// Memory is the new memory for ADD; of what it leaves empty only category, source and confidence are filled in. For UPDATE its content, category, salience, title, context and confidence replace those
	// of the target where they are not zero; tags and evidence are added to it.
	Memory memory.Memory

	Why string // UPPER_SNAKE name of the rule

	// Model says that a language model proposed it: stricter guards apply, and Replaces is not looked at.
	Model bool

	// Said is the sentence the memory was learnt from, when it reads differently. It is not stored: a value that was
	// forgotten in one form is not learnt in the other.
	Said string

	// Replaces lists what of the target's text this UPDATE puts something else in place of, each a number or name in lower case, "-" a negation. Only code
	// that laid the two statements side by side fills it; nothing a model says may end up here.
	Replaces []string
}

// DatedEntry is an entry for the daily log of a date, "2026-02-21".
type DatedEntry struct {
	Date  string
	Entry memory.Entry
}

// Plan is what one session or one request proposes. The zero value proposes nothing.
type Plan struct {
	Space   string
	Session string
	Items   []Item
	Entries []DatedEntry // entries to append; they are cleaned and cut, never refused
	Source  string       // memory.Source… for items that name none

	// At is the time, in the zone of the daily logs, under which Apply keeps there what the guards leave to a person; zero keeps nothing.
	At time.Time
	// Reviewed are the proposals that a person was asked about before, whatever the answer was: they are not kept again.
	Reviewed []*Proposal
}

// Targets lists the memories that items want to change.
func (p *Plan) Targets() (ids []string) {
	for _, item := range p.Items {
		if item.Action == Update || item.Action == Delete {
			ids = append(ids, item.Target)
		}
	}
	return ids
}

// View is what guards need to know of a space. *store.Tx is one.
type View interface {
	Memory(id string) *memory.Memory               // nil when there is none
	Equal(category, content string) *memory.Memory // an active memory with the same content, nil when there is none
	IsForgotten(content string) bool
}

// Rejection is an item that was refused, and why.
type Rejection struct {
	Index  int // into Plan.Items
	Item   Item
	Reason string // one of the Reason constants, or that of a memory.Violation
}

// ReviewPrefix begins the reasons of what needs a person to look at it.
const ReviewPrefix = "REVIEW_"

// Why items are refused.
const (
	ReasonTooMany         = "TOO_MANY_OPERATIONS"
	ReasonUnknownAction   = "UNKNOWN_ACTION"
	ReasonNotShown        = "TARGET_NOT_SHOWN"
	ReasonUnknownTarget   = "TARGET_UNKNOWN"
	ReasonInactive        = "TARGET_NOT_ACTIVE"
	ReasonTwice           = "TARGET_TWICE"
	ReasonStale           = "TARGET_CHANGED"
	ReasonPinned          = "TARGET_PINNED"
	ReasonEmptied         = "EMPTIED"
	ReasonForgotten       = "FORGOTTEN"
	ReasonSecret          = "SECRET"
	ReasonEqualsOther     = "EQUALS_ANOTHER"
	ReasonLostNumber      = "REVIEW_LOST_NUMBER"
	ReasonLostName        = "REVIEW_LOST_NAME"
	ReasonLostNegation    = "REVIEW_LOST_NEGATION"
	ReasonExactDuplicate  = "EXACT_DUPLICATE"   // of a Duplicate outcome
	ReasonNearDuplicate   = "NEAR_DUPLICATE"    // of a Duplicate outcome
	ReasonNothingToChange = "NOTHING_TO_CHANGE" // of a Duplicate outcome
)

// What an applied outcome did, as its reason.
const (
	Added   = "ADDED"
	Updated = "UPDATED"
	Retired = "RETIRED"
	Logged  = "LOGGED"
)
