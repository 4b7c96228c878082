package guard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// ExtraReview is the extra field of a memory.EntryReview entry that holds its Proposal.
const ExtraReview = "review"

// Who proposed an item, as Proposal.By.
const (
	ByModel = "model"
	ByRules = "rules"
)

// A person's decision, as Proposal.State; "" while undecided.
const (
	StateAccepted = "accepted"
	StateRejected = "rejected"
)

// Proposal is an item that was left to a person, with everything needed to apply it later. It is stored in a daily
// log entry:
//
//	{"reason":"REVIEW_LOST_NUMBER","action":"UPDATE","target":"…","target_revision":7,"by":"model",
//	 "before":"…","proposed":{"content":"…"}}
type Proposal struct {
	// begins with ReviewPrefix
	Reason   string `json:"reason"`
	Action   Action `json:"action"` // Update or Delete
	Target   string `json:"target"`
	Revision int64  `json:"target_revision"`
	By       string `json:"by"`
	// text of the target at the time of the proposal
	Before   string  `json:"before"`
	Proposed *Values `json:"proposed,omitempty"`
	// of a Delete: the memory that supersedes the target, "" for none
	ReplacedBy string    `json:"replaced_by,omitempty"`
	State      string    `json:"state,omitempty"`
	ResolvedAt time.Time `json:"resolved_at,omitzero"`
}

// Values are the new values of an UPDATE. Empty fields leave the memory's value.
type Values struct {
	Content        string            `json:"content"`
	Category       string            `json:"category,omitempty"`
	Title          string            `json:"title,omitempty"`
	Salience       float64           `json:"salience,omitempty"`
	Confidence     float64           `json:"confidence,omitempty"`
	Source         string            `json:"source,omitempty"`
	Tags           []string          `json:"tags,omitempty"`
	Context        *memory.Context   `json:"context,omitempty"`
	Evidence       []memory.Evidence `json:"evidence,omitempty"`
	StructuredData json.RawMessage   `json:"structured_data,omitempty"`
}

// Item returns the item that applies the proposal.
func (p *Proposal) Item() Item {
	item := Item{Action: p.Action, Target: p.Target, TargetRevision: p.Revision, Model: p.By == ByModel,
		ReplacedBy: p.ReplacedBy}
	if v := p.Proposed; v != nil {
		item.Memory = memory.Memory{
			Content: v.Content, Category: v.Category, Title: v.Title, Salience: v.Salience, Confidence: v.Confidence,
			Source: v.Source,
			Tags:   v.Tags, More: &memory.More{Context: v.Context, Evidence: v.Evidence, StructuredData: v.StructuredData},
		}
	}
	return item
}

// Same reports whether both propose the same change to the same revision of a memory.
func (p *Proposal) Same(q *Proposal) bool {
	if p.Target != q.Target || p.Revision != q.Revision || p.Action != q.Action ||
		(p.Proposed == nil) != (q.Proposed == nil) {
		return false
	}
	return p.Proposed == nil || memory.Normalize(p.Proposed.Content) == memory.Normalize(q.Proposed.Content)
}

// ProposalOf decodes the proposal of a log entry. It returns nil for entries without an applicable one: other types,
// earlier versions, hand-edited or purged entries.
func ProposalOf(e *memory.Entry) *Proposal {
	if e == nil || e.Type != memory.EntryReview || len(e.Extra[ExtraReview]) == 0 {
		return nil
	}
	var p Proposal
	if json.Unmarshal(e.Extra[ExtraReview], &p) != nil || p.Target == "" ||
		p.Action != Delete && (p.Action != Update || p.Proposed == nil) {
		return nil
	}
	return &p
}

// WithProposal returns a copy of e with the proposal p.
func WithProposal(e *memory.Entry, p *Proposal) (*memory.Entry, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode a proposal: %w", err)
	}
	out := *e
	out.Extra = map[string]json.RawMessage{}
	maps.Copy(out.Extra, e.Extra)
	out.Extra[ExtraReview] = raw
	return &out, nil
}

// ForReview returns the review entries for the items of p that the guards leave to a person, without those in
// p.Reviewed.
func ForReview(p Plan, view View) ([]DatedEntry, error) { return forReview(p, evaluate(p, view), view) }

// forReview is ForReview for evaluated items. A plan without a time gets no entries.
func forReview(p Plan, verdicts []verdict, view View) (out []DatedEntry, err error) {
	if p.At.IsZero() {
		return nil, nil
	}
	seen := p.Reviewed
	for i := range verdicts {
		item, reason := verdicts[i].review()
		if item == nil {
			continue
		}
		proposal := newProposal(item, reason, view)
		if containsProposal(seen, proposal) {
			continue
		}
		seen = append(seen[:len(seen):len(seen)], proposal)
		text := "retire: " + proposal.Before
		if proposal.Proposed != nil {
			text = proposal.Proposed.Content
		}
		entry, err := WithProposal(&memory.Entry{
			At: p.At, Time: p.At.Format(time.TimeOnly), Type: memory.EntryReview, Session: p.Session,
			Content: "[" + reason + " " + proposal.Target + "] " + text,
		}, proposal)
		if err != nil {
			return nil, err
		}
		out = append(out, DatedEntry{Date: p.At.Format(memory.DateLayout), Entry: *entry})
	}
	return out, nil
}

// containsProposal reports whether all has a proposal that is the Same as p.
func containsProposal(all []*Proposal, p *Proposal) bool {
	for _, q := range all {
		if q.Same(p) {
			return true
		}
	}
	return false
}

// newProposal makes the proposal of an item that is left to a person.
func newProposal(item *Item, reason string, view View) *Proposal {
	p := &Proposal{Reason: reason, Action: item.Action, Target: item.Target, Revision: item.TargetRevision,
		By: ByRules, ReplacedBy: item.ReplacedBy}
	if item.Model {
		p.By = ByModel
	}
	if target := view.Memory(p.Target); target != nil {
		p.Before = target.Content
	}
	if p.Action == Update {
		m := &item.Memory
		p.Proposed = &Values{
			Content: m.Content, Category: m.Category, Title: m.Title, Salience: m.Salience, Confidence: m.Confidence,
			Source: m.Source,
			Tags:   m.Tags, Context: m.Context(), Evidence: m.Evidence(), StructuredData: m.StructuredData(),
		}
	}
	return p
}

// Accept applies an item that a person accepted. Review reasons no longer apply; all other guards do, and the outcome
// has their reason. It runs inside the store.Update that records the decision.
func Accept(tx *store.Tx, item Item) (journal.Outcome, error) {
	item.Memory = *item.Memory.Clone()
	b := &guardRun{view: tx, source: cmp.Or(item.Memory.Source, memory.SourceReflection), byPerson: true,
		targets: map[string]bool{}, added: map[string]string{}}
	v := b.evaluateItem(item)
	if err := v.put(tx); err != nil {
		return journal.Outcome{}, fmt.Errorf("apply the accepted review item: %w", err)
	}
	return v.outcome(), nil
}
