package consolidator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/pattern"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Update is what a memory should say.
type Update struct {
	ID       string // the memory to change; "" is whichever says the same or less, else a new one
	Content  string
	Category string   // "" leaves it, or is memory.General for a new memory
	Salience *float64 // nil leaves it, or is memory.DefaultSalience
	Title    string
}

// SaveRequest is an entry of the history and what is true now.
type SaveRequest struct {
	Space   string
	Session string
	History string   // what happened; may be empty
	Updates []Update // at most plan.MaxItems with the lines of Text
	Text    string   // statements, one a line; see Statements
	DryRun  bool
	Key     string
}

// Saved is what became of a SaveRequest.
type Saved struct {
	Op       int64
	Replayed bool
	Items    []plan.Item // one for each update, then one for each line
	Outcomes []journal.Outcome
	History  *journal.Outcome // nil when there was none
	Changes  []journal.Change // of a dry run
}

func (r *SaveRequest) validate() error {
	var c memory.Check
	c.Text("history_entry", r.History, memory.MaxContent, false)
	for i, u := range r.Updates {
		field := fmt.Sprintf("memories[%d].", i)
		c.Text(field+"content", u.Content, memory.MaxContent, true)
		c.Text(field+"title", u.Title, memory.MaxTitle, false)
		if u.ID != "" {
			c.ID(field+"id", u.ID)
		}
		if u.Category != "" {
			c.Slug(field+"category", u.Category)
		}
		if u.Salience != nil {
			c.Unit(field+"salience", *u.Salience)
		}
	}
	if r.Session != "" {
		c.ID("session", r.Session)
	}
	lines := Statements(r.Text)
	for i, u := range lines {
		c.Text(fmt.Sprintf("memory_text line %d", i+1), u.Content, memory.MaxContent, true)
	}
	switch n := len(r.Updates) + len(lines); {
	case n > plan.MaxItems:
		c.Add("memories", "TOO_MANY", "are %d with the lines of the text; the limit is %d", n, plan.MaxItems)
	case n == 0 && strings.TrimSpace(r.History) == "":
		c.Add("history_entry", "REQUIRED", "neither a history entry nor memories are given")
	}
	return c.Err()
}

var (
	listMark = pattern.New(`^(?:[-*+•]|\d+[.)、])\s+`)
	heading  = pattern.New(`^#{1,6}\s+(.*?)\s*#*$`)
)

// Statements takes a text apart: one statement a line, without list marks. A heading is none; one that names a published category holds for the
// lines below it, until the next heading.
func Statements(text string) (out []Update) {
	category := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			category = strings.ToLower(m[1])
			switch category {
			case memory.Preferences, memory.Facts, memory.Tasks, memory.Reflections, memory.Procedural, memory.General:
			default:
				category = ""
			}
			continue
		}
		if line = strings.TrimSpace(listMark.ReplaceAllString(line, "")); strings.Trim(line, "-=* ") != "" {
			out = append(out, Update{Content: line, Category: category})
		}
	}
	return out
}

// Save appends to the history, which is the daily log, and brings memories up to date, in one operation. What is known is left, changed or
// added to as the rules of Consolidate say; what the request does not say stays as it is. Every guard holds: an update that would lose a number, a name
// or a negation waits for a person, and its outcome says so. No model is asked: whoever calls has decided.
//
// Durable on return. Errors: *memory.InvalidError, memory.ErrBusy, memory.ErrKeyReused, those of the store and the search.
func (s *Service) Save(ctx context.Context, req SaveRequest) (Saved, error) {
	if err := req.validate(); err != nil {
		return Saved{}, err
	}
	meta := store.Meta{Space: req.Space, Actor: journal.ActorConsolidate, Reason: "save memory", Session: req.Session}
	if req.Key != "" && !req.DryRun {
		body := req
		body.Key = ""
		raw, err := json.Marshal(body)
		if err != nil {
			return Saved{}, fmt.Errorf("encode the request: %w", err)
		}
		meta.Key, meta.Request = req.Key, append([]byte("save\x00"), raw...)
	}
	for i := range attempts {
		if i > 0 {
			if err := s.settle(ctx, req.Space); err != nil {
				return Saved{}, err
			}
		}
		out, err := s.save(ctx, req, meta)
		if !errors.Is(err, errMoved) {
			return out, err
		}
	}
	return Saved{}, fmt.Errorf("the memories to be saved keep changing: %w", memory.ErrBusy)
}

func (s *Service) save(ctx context.Context, req SaveRequest, meta store.Meta) (Saved, error) {
	purged := s.store.LastPurge()
	p, err := s.planOf(ctx, req)
	if err != nil {
		return Saved{}, err
	}
	if err := s.reviewable(&p, ""); err != nil {
		return Saved{}, err
	}
	out := Saved{Items: p.Items}
	entry := plan.DatedEntry{Date: p.At.Format(memory.DateLayout), Entry: memory.Entry{
		ID: store.NewID(), At: p.At, Time: p.At.Format(time.TimeOnly), Type: memory.EntryEvent, Content: req.History, Session: req.Session,
	}}
	var outcomes []journal.Outcome
	res, err := s.store.Update(ctx, meta, func(tx *store.Tx) error {
		if s.store.LastPurge() != purged {
			return errMoved
		}
		outcomes = plan.Preview(p, tx)
		for i, o := range outcomes {
			if req.updates(i) == "" && (o.Reason == plan.ReasonStale || o.Reason == plan.ReasonInactive) && o.Status == journal.Rejected {
				return errMoved
			}
		}
		history := historyOutcome(tx, entry.Entry)
		if history != nil && history.Status == journal.Applied {
			p.Entries = []plan.DatedEntry{entry}
		}
		if err := plan.Apply(tx, p); err != nil {
			return err
		}
		if history != nil {
			tx.Report(*history)
		}
		if req.DryRun {
			out.Changes, out.History = tx.Changes(), history
			return errDryRun
		}
		return nil
	})
	switch {
	case errors.Is(err, errDryRun):
		out.Outcomes = outcomes
		return out, nil
	case err != nil:
		return Saved{}, err
	}
	out.Op, out.Replayed = res.Op, res.Replayed
	out.Outcomes = res.Outcomes[:min(len(p.Items), len(res.Outcomes))]
	if len(res.Outcomes) > len(p.Items) {
		out.History = &res.Outcomes[len(p.Items)]
	}
	return out, nil
}

// planOf decides about everything that is to be saved but the history.
func (s *Service) planOf(ctx context.Context, req SaveRequest) (plan.Plan, error) {
	p := plan.Plan{Space: req.Space, Session: req.Session, Source: memory.SourceConsolidation}
	said := map[string]bool{}
	for _, u := range slices.Concat(req.Updates, Statements(req.Text)) {
		item, err := s.itemOf(ctx, req, u)
		if err != nil {
			return p, err
		}
		if same := memory.Normalize(u.Content); u.ID == "" && said[same] {
			item.Action, item.Target, item.Why = plan.Noop, "", plan.ReasonExactDuplicate
		} else {
			said[same] = true
		}
		p.Items = append(p.Items, item)
	}
	return p, nil
}

// updates is the id that item i was asked to change, "" when the rules chose.
func (r *SaveRequest) updates(i int) string {
	if i < len(r.Updates) {
		return r.Updates[i].ID
	}
	return ""
}

// historyOutcome says what becomes of the entry of the history, nil when there is none.
func historyOutcome(tx *store.Tx, e memory.Entry) *journal.Outcome {
	if strings.TrimSpace(e.Content) == "" {
		return nil
	}
	clean, _ := redact.Text(e.Content)
	switch {
	case strings.TrimSpace(redact.WithoutMarkers(clean)) == "":
		return &journal.Outcome{Status: journal.Rejected, Reason: plan.ReasonSecret}
	case tx.IsForgotten(e.Content):
		return &journal.Outcome{Status: journal.Rejected, Reason: plan.ReasonForgotten}
	}
	return &journal.Outcome{ID: e.ID, Status: journal.Applied, Reason: plan.Logged}
}

// itemOf decides about one update.
func (s *Service) itemOf(ctx context.Context, req SaveRequest, u Update) (plan.Item, error) {
	text, _ := redact.Text(u.Content)
	one := Request{Space: req.Space, Session: req.Session, Content: strings.TrimSpace(text), Category: u.Category, Salience: u.Salience, Title: u.Title}
	if u.ID == "" {
		if one.Content == "" {
			one.Content = u.Content // refused with its reason
			return candidateOf(one), nil
		}
		hits, err := s.search.Similar(ctx, req.Space, one.Content, neighbours)
		if err != nil {
			return plan.Item{}, fmt.Errorf("find similar memories: %w", err)
		}
		return decide(one, candidateOf(one), hits), nil
	}
	item := candidateOf(one)
	item.Action, item.Target, item.Why = plan.Update, u.ID, "ASKED"
	item.Memory.Category, item.Memory.Confidence = u.Category, 0
	if u.Salience == nil {
		item.Memory.Salience = 0
	}
	if m, err := s.store.Space(req.Space).Get(u.ID); err == nil {
		item.TargetRevision = m.Revision
	}
	return item, nil
}
