// Package consolidator is the write path of agents: it takes one candidate memory, compares it with what is known and
// decides by deterministic rules, or by a language model within their bounds, whether to add it, to update a memory or to leave
// things as they are. What it decides passes the same guards as a reflection. It does not serve users' explicit saves, which are not judged.
package consolidator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/plan"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
)

// Where a candidate is written to.
const (
	ToMemory = "memory"
	ToDaily  = "daily" // today's log
)

// Similar finds the memories of a space that are nearest to a text; score 1 is the same text.
type Similar interface {
	Similar(ctx context.Context, space, text string, k int) ([]search.Hit, error)
}

// Config is what a Service works with. Store, Search and Now are required.
type Config struct {
	Store    *store.Store
	Search   Similar
	Now      func() time.Time
	Location *time.Location // of the daily logs; nil is UTC
	Logger   *slog.Logger   // nil discards

	// Disabled stores candidates as they are: nothing is compared with them but for an exact repeat. What guards every
	// write (secrets, forgotten values, limits) stays.
	Disabled bool

	// Model decides where something similar is known that is not the same; nil leaves that to the rules.
	Model Model

	// Reviews knows what a person was asked about before; nil is nothing.
	Reviews Reviews
}

// Reviews returns the proposals about some memories that were left to a person, whatever became of them.
type Reviews interface {
	Known(space string, targets []string) ([]*plan.Proposal, error)
}

// Service is safe for concurrent use.
type Service struct {
	store    *store.Store
	search   Similar
	now      func() time.Time
	location *time.Location
	logger   *slog.Logger
	disabled bool
	model    Model // nil without one
	answers  answers
	reviews  Reviews // may be nil

	wake chan struct{} // tells Run that something waits
}

// New makes a Service.
func New(cfg Config) *Service {
	s := &Service{store: cfg.Store, search: cfg.Search, now: cfg.Now, location: cfg.Location, logger: cfg.Logger, disabled: cfg.Disabled, model: cfg.Model, reviews: cfg.Reviews,
		wake: make(chan struct{}, 1)}
	if s.location == nil {
		s.location = time.UTC
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	return s
}

// Request is one candidate.
type Request struct {
	Space    string
	Session  string   // session it was learnt in, "" for none
	Content  string   // 1 to memory.MaxContent characters
	Category string   // "" is memory.General
	Salience *float64 // 0 to 1; nil is memory.DefaultSalience
	Title    string
	Tags     []string
	WriteTo  string // ToMemory (also "") or ToDaily
	Key      string // idempotency key, "" for none
	Reason   string // for people, in the list of operations
	DryRun   bool   // say what would happen, change nothing
	Actor    string // "" is journal.ActorConsolidate

	Confidence *float64 // 0 to 1; nil is 1
	// Later keeps the candidate in the log of today and returns; Run decides about it. Nothing is compared before that.
	Later bool

	from *waiting // the log entry that it comes from; nil for none
}

// Decision is what became of a candidate.
type Decision struct {
	Action   plan.Action // ADD, UPDATE, DELETE or NOOP; NOOP with a Reason when it was refused
	ID       string      // the memory added, changed or repeated; the log entry with ToDaily
	Op       int64       // 0 when nothing changed
	Status   string      // journal.Applied, Duplicate or Rejected
	Reason   string      // UPPER_SNAKE: the rule that decided, or why it was refused
	Similar  []search.Hit
	Replayed bool // the key was known: nothing was done again

	DecidedBy string // ByModel or ByRules
	Note      string // why the rules decided although the model was asked; else ""

	Pending bool             // it waits in the daily log to be decided about; ID is the entry
	Changes []journal.Change // of a dry run: what the operation would hold
}

const (
	neighbours = 10
	attempts   = 3
)

var (
	errMoved  = errors.New("a neighbour changed meanwhile")
	errDryRun = errors.New("dry run")
)

func (r *Request) validate() error {
	var c memory.Check
	c.Text("content", r.Content, memory.MaxContent, true)
	c.Text("title", r.Title, memory.MaxTitle, false)
	c.Text("reason", r.Reason, memory.MaxTitle, false)
	if r.Category != "" {
		c.Slug("category", r.Category)
	}
	if r.Salience != nil {
		c.Unit("salience", *r.Salience)
	}
	if r.Confidence != nil {
		c.Unit("confidence", *r.Confidence)
	}
	if len(r.Tags) > memory.MaxTags {
		c.Add("tags", "TOO_MANY", "has %d tags; the limit is %d", len(r.Tags), memory.MaxTags)
	}
	for i, t := range r.Tags {
		c.Text(fmt.Sprintf("tags[%d]", i), t, memory.MaxTag, true)
	}
	if r.WriteTo != "" && r.WriteTo != ToMemory && r.WriteTo != ToDaily {
		c.Add("write_to", "UNKNOWN_VALUE", "must be %q or %q", ToMemory, ToDaily)
	}
	if r.Session != "" {
		c.ID("session", r.Session)
	}
	return c.Err()
}

// meta identifies the request: everything but how it is asked.
func (r *Request) meta() (store.Meta, error) {
	m := store.Meta{Space: r.Space, Actor: cmp.Or(r.Actor, journal.ActorConsolidate), Reason: cmp.Or(r.Reason, "memory write"), Session: r.Session}
	if r.Key == "" || r.DryRun {
		return m, nil
	}
	body := *r
	body.Key, body.Reason, body.Actor = "", "", ""
	raw, err := json.Marshal(body)
	if err != nil {
		return m, fmt.Errorf("encode the request: %w", err)
	}
	m.Key, m.Request = r.Key, append([]byte("consolidate\x00"), raw...)
	return m, nil
}

// Consolidate decides about a candidate and carries it out. A value the user had forgotten is refused, whoever asks: only
// an explicit save brings it back. No lock is held while neighbours are searched; a neighbour that changes meanwhile makes it
// decide anew, at most 3 times. A model is asked once, for at most 20 seconds; then, and in all that it proposes wrongly, the rules decide.
//
// Durable on return. Errors: *memory.InvalidError, memory.ErrBusy, memory.ErrKeyReused, those of the store and the search.
func (s *Service) Consolidate(ctx context.Context, req Request) (Decision, error) {
	if err := req.validate(); err != nil {
		return Decision{}, err
	}
	meta, err := req.meta()
	if err != nil {
		return Decision{}, err
	}
	req.Content = strings.TrimSpace(req.Content)
	req.Content, _ = redact.Text(req.Content)
	if req.Content = strings.TrimSpace(req.Content); req.Content == "" { // all of it was private
		return Decision{Action: plan.Noop, Status: journal.Rejected, Reason: plan.ReasonSecret}, nil
	}
	for i := range attempts {
		if i > 0 {
			if err := s.settle(ctx, req.Space); err != nil {
				return Decision{}, err
			}
		}
		d, err := s.once(ctx, req, meta, i == 0)
		if !errors.Is(err, errMoved) {
			return d, err
		}
	}
	return Decision{}, fmt.Errorf("memories near to the candidate keep changing: %w", memory.ErrBusy)
}

// settle waits until everything staged is durable: what made a plan stale may not be, and readers see only what is.
func (s *Service) settle(ctx context.Context, space string) error {
	_, err := s.store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorConsolidate}, func(*store.Tx) error { return nil })
	if err != nil {
		return fmt.Errorf("wait for the change of a neighbour: %w", err)
	}
	return nil
}

func (s *Service) once(ctx context.Context, req Request, meta store.Meta, first bool) (Decision, error) {
	if req.WriteTo == ToDaily || req.Later {
		return s.daily(ctx, req, meta)
	}
	out, purged := Decision{DecidedBy: ByRules}, s.store.LastPurge()
	var err error
	if s.disabled {
		// no neighbours: the candidate is new unless it is an exact repeat
	} else if out.Similar, err = s.search.Similar(ctx, req.Space, req.Content, neighbours); err != nil {
		return Decision{}, fmt.Errorf("find similar memories: %w", err)
	}
	candidate := candidateOf(req)
	byRules := decide(req, candidate, out.Similar)
	item := byRules
	if s.model != nil && !s.disabled && first {
		if item, out.Note, err = s.consult(ctx, req, out.Similar, candidate, byRules, purged); err != nil {
			return Decision{}, err
		}
	}
	p := plan.Plan{Space: req.Space, Session: req.Session, Items: []plan.Item{item}, Source: memory.SourceConsolidation}
	if err := s.reviewable(&p, byRules.Target); err != nil {
		return Decision{}, err
	}
	return s.update(ctx, req, meta, &out, &item, func(tx *store.Tx) ([]journal.Outcome, error) {
		if s.store.LastPurge() != purged {
			return nil, errMoved // what was read, and what a model said of it, may hold what was erased
		}
		return s.apply(tx, req, p, &out, &item, byRules)
	})
}

// apply is the transaction of item, the only one of p. When the guards refuse what a model proposed, byRules takes its place.
func (s *Service) apply(tx *store.Tx, req Request, p plan.Plan, out *Decision, item *plan.Item, byRules plan.Item) ([]journal.Outcome, error) {
	outcomes := plan.Preview(p, tx)
	if o := outcomes[0]; item.Model && o.Status == journal.Rejected && o.Reason != plan.ReasonStale && o.Reason != plan.ReasonInactive {
		out.Note = "the model's proposal was refused: " + o.Reason // what the agent wants to save is not lost by that
		review, err := plan.ForReview(p, tx)
		if err != nil {
			return nil, err
		}
		*item = byRules
		p.Items, p.Entries = []plan.Item{byRules}, review
		outcomes = plan.Preview(p, tx)
	}
	if item.Model {
		out.DecidedBy = ByModel
	}
	if o := outcomes[0]; o.Status == journal.Rejected && (o.Reason == plan.ReasonStale || o.Reason == plan.ReasonInactive) {
		return nil, errMoved
	}
	if err := req.from.mark(s, tx, *item, outcomes[0]); err != nil {
		return nil, err
	}
	if err := plan.Apply(tx, p); err != nil || !req.DryRun {
		return nil, err
	}
	out.Changes = tx.Changes()
	return outcomes, errDryRun
}

// reviewable has the plan keep what the guards leave to a person. other is what may be changed in the place of the plan's targets.
func (s *Service) reviewable(p *plan.Plan, other string) (err error) {
	p.At = s.now().In(s.location)
	if s.reviews == nil {
		return nil
	}
	targets := p.Targets()
	if other != "" {
		targets = append(targets, other)
	}
	if p.Reviewed, err = s.reviews.Known(p.Space, targets); err != nil {
		return fmt.Errorf("look for what a person was asked before: %w", err)
	}
	return nil
}

// candidateOf is what a request wants to save, undecided.
func candidateOf(req Request) plan.Item {
	m := memory.Memory{
		Category: cmp.Or(req.Category, memory.General), Content: req.Content, Salience: memory.DefaultSalience, Source: memory.SourceConsolidation,
		Title: req.Title, Tags: req.Tags, Confidence: 1,
	}
	if req.Salience != nil {
		m.Salience = *req.Salience
	}
	if req.Confidence != nil {
		m.Confidence = *req.Confidence
	}
	if e := (memory.Evidence{Session: req.Session}); req.from != nil {
		m.ID = store.NewID() // to be noted in the entry
		e.Log, e.Entry = req.from.date, req.from.entry.ID
		m.Evidence = []memory.Evidence{e}
	} else if req.Session != "" {
		m.Evidence = []memory.Evidence{e}
	}
	return plan.Item{Action: plan.Add, Why: "NEW", Memory: m}
}

// decide is the rules' choice.
func decide(req Request, candidate plan.Item, hits []search.Hit) plan.Item {
	near := make([]plan.Neighbour, len(hits))
	for i, h := range hits {
		near[i] = plan.Neighbour{Memory: h.Memory, Score: h.Score}
	}
	return settleNear(req, plan.Decide(candidate, near), near)
}

// update runs do in one transaction and turns its outcome into a decision. do may change out and item.
func (s *Service) update(ctx context.Context, req Request, meta store.Meta, about *Decision, item *plan.Item, do func(*store.Tx) ([]journal.Outcome, error)) (Decision, error) {
	var seen []journal.Outcome
	res, err := s.store.Update(ctx, meta, func(tx *store.Tx) (err error) {
		seen, err = do(tx)
		return err
	})
	switch {
	case errors.Is(err, errDryRun):
		res = store.Result{Outcomes: seen}
	case err != nil:
		return Decision{}, err
	}
	out := *about
	out.Op, out.Replayed = res.Op, res.Replayed
	if len(res.Outcomes) == 0 {
		return Decision{}, fmt.Errorf("the key %q belongs to a request without a decision: %w", req.Key, memory.ErrKeyReused)
	}
	o := res.Outcomes[0]
	out.ID, out.Status, out.Reason, out.Action = o.ID, o.Status, o.Reason, plan.Noop
	if o.Status == journal.Applied {
		switch o.Reason {
		case plan.Updated:
			out.Action = plan.Update
		case plan.Retired:
			out.Action = plan.Delete
		default:
			out.Action = plan.Add
		}
		if !out.Replayed && item.Why != "" {
			out.Reason = item.Why
		}
	}
	s.logger.DebugContext(ctx, "candidate consolidated", "space", meta.Space, "action", string(out.Action), "reason", out.Reason, "op", out.Op)
	return out, nil
}
