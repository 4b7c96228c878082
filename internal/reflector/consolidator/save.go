package consolidator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Update is the new text of a memory.
type Update struct {
	// the memory to change; "" lets the rules find it or add a new one
	ID      string
	Content string
	// "" keeps it; for a new memory it means memory.General
	Category string
	// nil keeps it; for a new memory it means memory.DefaultSalience
	Salience *float64
	Title    string

	line, column int // of a statement in the text: counted from 1, and in characters from 0; 0 for any other update
}

// SaveRequest is a history entry and the memories to update.
type SaveRequest struct {
	Space   string
	Session string
	// the history entry; may be empty
	History string
	// together with the lines of Text at most guard.MaxItems
	Updates []Update
	// statements, one a line; see Statements
	Text   string
	DryRun bool
	Key    string
	// for people, in the list of operations; "" is a standard one
	Reason string
	Keep   bool // what only looks like a secret stays
}

// Saved is the result of a SaveRequest.
type Saved struct {
	Op       int64
	Replayed bool
	// one per update, then one per line of Text
	Items    []guard.Item
	Outcomes []journal.Outcome
	// nil without a history entry
	History *journal.Outcome
	Changes []journal.Change // of a dry run
	// secrets and private passages that were taken out of all texts
	Redacted int
}

// cleaned is what is taken out of the texts of a request.
type cleaned struct {
	items   [][]memory.Redaction // one per update, then one per line of the text
	history []memory.Redaction
}

// clean finds out what is taken out. The places are in the texts as they were given.
func (r *SaveRequest) clean() (out cleaned) {
	of := redact.Cleaner{Keep: r.Keep}
	of.Text("history_entry", r.History)
	out.history = of.Found
	for _, u := range slices.Concat(r.Updates, Statements(r.Text)) {
		one := redact.Cleaner{Keep: r.Keep}
		if u.line > 0 {
			one.Text(fmt.Sprintf("memory_text line %d", u.line), u.Content)
			for i := range one.Found {
				one.Found[i].From, one.Found[i].To = one.Found[i].From+u.column, one.Found[i].To+u.column
			}
		} else {
			one.Text("content", u.Content)
			one.Text("title", u.Title)
		}
		out.items = append(out.items, one.Found)
	}
	return out
}

// report adds to a result what was taken out. A replayed one repeats what was decided, and nothing was taken out again.
func (c cleaned) report(out *Saved) {
	count := func(o *journal.Outcome, list []memory.Redaction) {
		o.Redactions = list
		out.Redacted += redact.CountSecrets(list)
	}
	for i, list := range c.items[:min(len(c.items), len(out.Outcomes))] {
		count(&out.Outcomes[i], list)
	}
	if out.History != nil {
		count(out.History, c.history)
	}
}

// validate checks the limits of a request.
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
	c.Text("reason", r.Reason, memory.MaxTitle, false)
	if r.Session != "" {
		c.ID("session_id", r.Session)
	}
	lines := Statements(r.Text)
	for i, u := range lines {
		c.Text(fmt.Sprintf("memory_text line %d", i+1), u.Content, memory.MaxContent, true)
	}
	switch n := len(r.Updates) + len(lines); {
	case n > guard.MaxItems:
		c.Add("memories", "TOO_MANY", "has %d items with the lines of the text; the limit is %d", n, guard.MaxItems)
	case n == 0 && strings.TrimSpace(r.History) == "":
		c.Add("history_entry", "REQUIRED", "either a history entry or memories are required")
	}
	return c.Err()
}

var (
	listMarker = lazyregexp.New(`^(?:[-*+•]|\d+[.)、])\s+`)
	heading    = lazyregexp.New(`^#{1,6}\s+(.*?)\s*#*$`)
)

// Statements splits a text into statements, one per line, without list markers. A heading that names a built-in
// category sets the category of the lines up to the next heading.
func Statements(text string) (out []Update) {
	category, number := "", 0
	for whole := range strings.Lines(text) {
		number++
		line := strings.TrimSpace(whole)
		if m := heading.FindStringSubmatch(line); m != nil {
			category = strings.ToLower(m[1])
			switch category {
			case memory.Preferences, memory.Facts, memory.Tasks, memory.Reflections, memory.Procedural, memory.General:
			default:
				category = ""
			}
			continue
		}
		if line = strings.TrimSpace(listMarker.ReplaceAllString(line, "")); strings.Trim(line, "-=* ") != "" {
			column := utf8.RuneCountInString(whole[:strings.Index(whole, line)])
			out = append(out, Update{Content: line, Category: category, line: number, column: column})
		}
	}
	return out
}

// Save appends the history entry to the daily log and updates memories, in one operation. The rules of Consolidate
// apply to updates without an id; fields missing in the request keep their values. All guards apply: an update that
// would lose a number, a name or a negation is left to a person, as its outcome says. The model is not asked, because
// the caller has already decided.
//
// Durable on return. Errors: *memory.InvalidError, memory.ErrBusy, memory.ErrKeyReused, those of the store and the
// search.
func (s *Service) Save(ctx context.Context, req SaveRequest) (Saved, error) {
	if err := req.validate(); err != nil {
		return Saved{}, err
	}
	meta := store.Meta{Space: req.Space, Actor: journal.ActorConsolidate, Reason: cmp.Or(req.Reason, "save memory"), Session: req.Session}
	if req.Key != "" && !req.DryRun {
		body := req
		body.Key = ""
		raw, err := json.Marshal(body)
		if err != nil {
			return Saved{}, fmt.Errorf("encode the request: %w", err)
		}
		meta.Key, meta.Request = req.Key, append([]byte("save\x00"), raw...)
	}
	for i := range maxAttempts {
		if i > 0 {
			if err := s.waitDurable(ctx, req.Space); err != nil {
				return Saved{}, err
			}
		}
		out, err := s.save(ctx, req, meta)
		if !errors.Is(err, errStalePlan) {
			req.clean().report(&out)
			return out, err
		}
	}
	return Saved{}, fmt.Errorf("save memories: gave up after %d conflicting concurrent changes: %w", maxAttempts,
		memory.ErrBusy)
}

// save makes one attempt. The error is errStalePlan when another one is needed.
func (s *Service) save(ctx context.Context, req SaveRequest, meta store.Meta) (Saved, error) {
	purged := s.store.LastPurge()
	p, err := s.planOf(ctx, req)
	if err != nil {
		return Saved{}, err
	}
	if err := s.attachReviews(&p, ""); err != nil {
		return Saved{}, err
	}
	out := Saved{Items: p.Items}
	entry := guard.DatedEntry{Date: p.At.Format(memory.DateLayout), Keep: req.Keep, Entry: memory.Entry{
		ID: store.NewID(), At: p.At, Time: p.At.Format(time.TimeOnly), Type: memory.EntryEvent, Content: req.History,
		Session: req.Session,
	}}
	var outcomes []journal.Outcome
	res, err := s.store.Update(ctx, meta, func(tx *store.Tx) error {
		if s.store.LastPurge() != purged {
			return errStalePlan
		}
		outcomes = guard.Preview(p, tx)
		for i, o := range outcomes {
			if req.updates(i) == "" && (o.Reason == guard.ReasonStale || o.Reason == guard.ReasonInactive) &&
				o.Status == journal.Rejected {
				return errStalePlan
			}
		}
		history := historyOutcome(tx, entry)
		if history != nil && history.Status == journal.Applied {
			p.Entries = []guard.DatedEntry{entry}
		}
		if err := guard.Apply(tx, p); err != nil {
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

// planOf decides about all updates and lines of a request.
func (s *Service) planOf(ctx context.Context, req SaveRequest) (guard.Plan, error) {
	p := guard.Plan{Space: req.Space, Session: req.Session, Source: memory.SourceUser}
	said := map[string]bool{}
	for _, u := range slices.Concat(req.Updates, Statements(req.Text)) {
		item, err := s.itemOf(ctx, req, u)
		if err != nil {
			return p, err
		}
		if same := memory.Normalize(u.Content); u.ID == "" && said[same] {
			item.Action, item.Target, item.Reason = guard.Noop, "", guard.ReasonExactDuplicate
		} else {
			said[same] = true
		}
		p.Items = append(p.Items, item)
	}
	return p, nil
}

// updates returns the requested target of item i, "" if the rules chose it.
func (r *SaveRequest) updates(i int) string {
	if i < len(r.Updates) {
		return r.Updates[i].ID
	}
	return ""
}

// historyOutcome returns the outcome of the history entry, nil without one.
func historyOutcome(tx *store.Tx, e guard.DatedEntry) *journal.Outcome {
	if strings.TrimSpace(e.Entry.Content) == "" {
		return nil
	}
	of := redact.Cleaner{Keep: e.Keep}
	clean := of.Text("content", e.Entry.Content)
	switch {
	case strings.TrimSpace(redact.WithoutMarkers(clean)) == "":
		return &journal.Outcome{Status: journal.Rejected, Reason: guard.ReasonSecret}
	case tx.IsForgotten(e.Entry.Content):
		return &journal.Outcome{Status: journal.Rejected, Reason: guard.ReasonForgotten}
	}
	return &journal.Outcome{ID: e.Entry.ID, Status: journal.Applied, Reason: guard.ReasonLogged}
}

// itemOf decides about one update. An update with an id is an UPDATE of that memory, whatever it says.
func (s *Service) itemOf(ctx context.Context, req SaveRequest, u Update) (guard.Item, error) {
	of := redact.Cleaner{Keep: req.Keep}
	one := Request{Space: req.Space, Session: req.Session, Content: strings.TrimSpace(of.Text("content", u.Content)),
		Category: u.Category, Salience: u.Salience, Title: u.Title, Keep: req.Keep}
	if u.ID == "" {
		if one.Content == "" {
			one.Content = u.Content // the guards reject it with a reason
			return candidateOf(one), nil
		}
		hits, err := s.search.Similar(ctx, req.Space, one.Content, maxNeighbours)
		if err != nil {
			return guard.Item{}, fmt.Errorf("find similar memories: %w", err)
		}
		return decide(one, candidateOf(one), hits), nil
	}
	item := candidateOf(one)
	item.Action, item.Target, item.Reason = guard.Update, u.ID, "ASKED"
	item.Memory.Category, item.Memory.Confidence = u.Category, 0
	if u.Salience == nil {
		item.Memory.Salience = 0
	}
	if m, err := s.store.Space(req.Space).Get(u.ID); err == nil {
		item.TargetRevision = m.Revision
	}
	return item, nil
}
