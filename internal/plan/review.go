package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// ExtraReview is the field of a log entry of type memory.EntryReview that holds its Proposal.
const ExtraReview = "review"

// Who proposed an item, as Proposal.By.
const (
	ByModel = "model"
	ByRules = "rules"
)

// What a person decided, as Proposal.State; "" while nobody has.
const (
	StateAccepted = "accepted"
	StateRejected = "rejected"
)

// Proposal is an item that the guards left to a person, with what has to be known to carry it out later. It is kept in the daily log:
//
//	{"reason":"REVIEW_LOST_NUMBER","action":"UPDATE","target":"…","target_revision":7,"by":"model","before":"…","proposed":{"content":"…"}}
type Proposal struct {
	Reason     string    `json:"reason"` // begins with ReviewPrefix
	Action     Action    `json:"action"` // Update or Delete
	Target     string    `json:"target"`
	Revision   int64     `json:"target_revision"`
	By         string    `json:"by"`
	Before     string    `json:"before"` // text of the target when it was proposed
	Proposed   *Values   `json:"proposed,omitempty"`
	State      string    `json:"state,omitempty"`
	ResolvedAt time.Time `json:"resolved_at,omitzero"`
}

// Values are the new values that an UPDATE gives a memory. What is empty stays as it is.
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

// Item is what carries the proposal out.
func (p *Proposal) Item() Item {
	item := Item{Action: p.Action, Target: p.Target, TargetRevision: p.Revision, Model: p.By == ByModel}
	if v := p.Proposed; v != nil {
		item.Memory = memory.Memory{
			Content: v.Content, Category: v.Category, Title: v.Title, Salience: v.Salience, Confidence: v.Confidence, Source: v.Source,
			Tags: v.Tags, Context: v.Context, Evidence: v.Evidence, StructuredData: v.StructuredData,
		}
	}
	return item
}

// Same reports whether both want the same done with the same memory in the same state.
func (p *Proposal) Same(q *Proposal) bool {
	if p.Target != q.Target || p.Revision != q.Revision || p.Action != q.Action || (p.Proposed == nil) != (q.Proposed == nil) {
		return false
	}
	return p.Proposed == nil || memory.Normalize(p.Proposed.Content) == memory.Normalize(q.Proposed.Content)
}

// ProposalOf reads the proposal of a log entry, nil when it has none that could be carried out: an entry of an earlier version, or one that
// was edited by hand or purged.
func ProposalOf(e *memory.Entry) *Proposal {
	if e == nil || e.Type != memory.EntryReview || len(e.Extra[ExtraReview]) == 0 {
		return nil
	}
	var p Proposal
	if json.Unmarshal(e.Extra[ExtraReview], &p) != nil || p.Target == "" || p.Action != Delete && (p.Action != Update || p.Proposed == nil) {
		return nil
	}
	return &p
}

// WithProposal returns e with p in the place of its proposal.
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

// ForReview makes the log entries of the items of p that the guards leave to a person. What is in p.Reviewed is not asked again.
func ForReview(p Plan, view View) ([]DatedEntry, error) { return forReview(p, judge(p, view), view) }

func forReview(p Plan, verdicts []verdict, view View) (out []DatedEntry, err error) {
	if p.At.IsZero() {
		return nil, nil
	}
	seen := p.Reviewed
	for _, v := range verdicts {
		if !strings.HasPrefix(v.reject, ReviewPrefix) {
			continue
		}
		proposal := proposalOf(v, view)
		if containsSame(seen, proposal) {
			continue
		}
		seen = append(seen[:len(seen):len(seen)], proposal)
		text := "retire: " + proposal.Before
		if proposal.Proposed != nil {
			text = proposal.Proposed.Content
		}
		entry, err := WithProposal(&memory.Entry{
			At: p.At, Time: p.At.Format(time.TimeOnly), Type: memory.EntryReview, Session: p.Session,
			Content: "[" + v.reject + " " + proposal.Target + "] " + text,
		}, proposal)
		if err != nil {
			return nil, err
		}
		out = append(out, DatedEntry{Date: p.At.Format(memory.DateLayout), Entry: *entry})
	}
	return out, nil
}

func containsSame(all []*Proposal, p *Proposal) bool {
	for _, q := range all {
		if q.Same(p) {
			return true
		}
	}
	return false
}

func proposalOf(v verdict, view View) *Proposal {
	p := &Proposal{Reason: v.reject, Action: v.item.Action, Target: v.item.Target, Revision: v.item.TargetRevision, By: ByRules}
	if v.item.Model {
		p.By = ByModel
	}
	if target := view.Memory(p.Target); target != nil {
		p.Before = target.Content
	}
	if p.Action == Update {
		m := &v.item.Memory
		p.Proposed = &Values{
			Content: m.Content, Category: m.Category, Title: m.Title, Salience: m.Salience, Confidence: m.Confidence, Source: m.Source,
			Tags: m.Tags, Context: m.Context, Evidence: m.Evidence, StructuredData: m.StructuredData,
		}
	}
	return p
}

// Accept carries out an item that a person accepted. The guards that leave things to a person are not asked again; all others are, and
// the outcome says what they refuse. It is meant to run inside one store.Update, with what marks the item as accepted.
func Accept(tx *store.Tx, item Item) (journal.Outcome, error) {
	item.Memory = *item.Memory.Clone()
	b := &bench{view: tx, source: cmp.Or(item.Memory.Source, memory.SourceReflection), accepted: true, targets: map[string]bool{}, added: map[string]string{}}
	v := b.judge(item)
	if v.after != nil && v.reject == "" {
		if err := tx.Put(v.after); err != nil {
			return journal.Outcome{}, fmt.Errorf("carry out what was accepted: %w", err)
		}
	}
	return v.outcome(), nil
}
