// Package consolidator is the write path of agents. It compares a candidate memory with similar known memories and
// decides whether to add it, to update a memory or to change nothing. Deterministic rules decide, or a language model
// if the rules may not suffice; either way package guard has the last word. Explicit saves by users do not pass
// through this package.
package consolidator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/reflector/guard"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Values of Request.WriteTo.
const (
	ToMemory = "memory"
	ToDaily  = "daily" // today's log
)

// Similar finds the k memories of a space most similar to a text, by words and by meaning or by words alone. Scores are
// 0 to 1; 1 is the same text.
type Similar interface {
	Similar(ctx context.Context, space, text string, k int) ([]search.Hit, error)
	SimilarByWords(ctx context.Context, space, text string, k int) ([]search.Hit, error)
}

// Config configures a Service. Store, Search and Now are required.
type Config struct {
	Store  *store.Store
	Search Similar
	Now    func() time.Time
	// time zone of the daily logs; nil means UTC
	Location *time.Location
	// nil disables logging
	Logger *slog.Logger

	// Disabled stores candidates unless they are exact repeats, without other comparisons. The guards of every write
	// (secrets, forgotten values, limits) still apply.
	Disabled bool

	// Model decides about candidates that are similar to a known memory, but not equal; nil leaves that to the rules.
	Model Model

	// Reviews knows earlier proposals that were left to a person; nil means none.
	Reviews Reviews
}

// Reviews returns earlier proposals about target memories, decided or not.
type Reviews interface {
	ProposalsFor(space string, targets []string) ([]*guard.Proposal, error)
}

// Service is safe for concurrent use.
type Service struct {
	store    *store.Store
	search   Similar
	now      func() time.Time
	location *time.Location
	logger   *slog.Logger
	disabled bool
	model    Model // may be nil
	replies  replyCache
	reviews  Reviews // may be nil

	// wakes Run when a candidate is pending
	wake chan struct{}
}

// New makes a Service. It starts nothing; see Run.
func New(cfg Config) *Service {
	s := &Service{store: cfg.Store, search: cfg.Search, now: cfg.Now, location: cfg.Location, logger: cfg.Logger,
		disabled: cfg.Disabled, model: cfg.Model, reviews: cfg.Reviews,
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
	Space string
	// session of origin, "" for none
	Session string
	// 1 to memory.MaxContent characters
	Content string
	// "" means memory.General
	Category string
	// 0 to 1; nil means memory.DefaultSalience
	Salience *float64
	Title    string
	Tags     []string
	// ToMemory (also "") or ToDaily
	WriteTo string
	// idempotency key, "" for none
	Key string
	// for people, in the list of operations
	Reason string
	// report the decision without changing anything
	DryRun bool
	// "" means journal.ActorConsolidate
	Actor string

	// 0 to 1; nil means 1
	Confidence *float64
	// Later stores the candidate in today's log and returns at once; Run decides about it in the background.
	Later bool
	// what looks like a secret stays; rules decide at once, because no model may see it
	Keep bool

	// the log entry of origin; nil for none
	from *logCandidate
}

// Decision is the result for a candidate.
type Decision struct {
	// ADD, UPDATE, DELETE or NOOP; NOOP for rejected candidates, too
	Action guard.Action
	// the memory added, changed or repeated; with ToDaily, the log entry
	ID string
	// 0 if nothing changed
	Op int64
	// journal.Applied, Duplicate or Rejected
	Status string
	// UPPER_SNAKE: the deciding rule, or why it was rejected
	Reason  string
	Similar []search.Hit
	// the idempotency key was known: this is the earlier result
	Replayed bool

	// ByModel or ByRules
	DecidedBy string
	// why the rules decided although a model is configured; else ""
	Note string
	// stored in the daily log, not decided yet; ID is the entry
	Pending bool
	// the day of the log that has the candidate, with ToDaily and Later; else ""
	LogDate string
	// of a dry run: the changes of the operation
	Changes []journal.Change
	// what was taken out of the candidate
	Redactions []memory.Redaction
}

// Redacted returns how many secrets and private passages were taken out of the candidate; a quoted recall block is
// neither.
func (d *Decision) Redacted() (n int) {
	for _, r := range d.Redactions {
		if r.Kind != redact.RecallBlock {
			n++
		}
	}
	return n
}

const (
	maxNeighbours = 10
	maxAttempts   = 3
)

var (
	errStalePlan = errors.New("a similar memory changed concurrently")
	errDryRun    = errors.New("dry run")
)

// validate checks the limits of a request.
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
		c.ID("session_id", r.Session)
	}
	return c.Err()
}

// meta returns the operation's metadata. The idempotency key is bound to all fields that determine the decision.
func (r *Request) meta() (store.Meta, error) {
	m := store.Meta{Space: r.Space, Actor: cmp.Or(r.Actor, journal.ActorConsolidate),
		Reason: cmp.Or(r.Reason, "memory write"), Session: r.Session}
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

// Consolidate decides about a candidate and applies the decision. Forgotten values are rejected; only an explicit save
// brings them back. No lock is held during the search. If a similar memory changes concurrently, the decision is
// repeated, at most 3 times. The model is asked once, for at most 20 seconds; after that, or if its proposal is
// rejected, the rules decide. Before it is asked, the candidate is durable in today's log, so that neither an answer
// nor a crash loses a text that was handed in.
//
// Durable on return. Errors: *memory.InvalidError, memory.ErrBusy, memory.ErrKeyReused, memory.ErrReadOnlySpace, those
// of the store and the search.
func (s *Service) Consolidate(ctx context.Context, req Request) (Decision, error) {
	if err := req.validate(); err != nil {
		return Decision{}, err
	}
	meta, err := req.meta()
	if err != nil {
		return Decision{}, err
	}
	taken := redact.Cleaner{Keep: req.Keep}
	req.redact(&taken)
	if req.Content == "" { // private passages only
		return Decision{Action: guard.Noop, Status: journal.Rejected, Reason: guard.ReasonSecret,
			Redactions: taken.Found}, nil
	}
	if req.WriteTo != ToDaily && req.from == nil { // a candidate of the log was taken before, and is rejected
		if err := s.store.Writable(req.Space); err != nil {
			return Decision{}, err
		}
	}
	d, err := s.consolidate(ctx, req, meta)
	d.Redactions = taken.Found
	return d, err
}

// redact takes out of a request what must not be stored.
func (r *Request) redact(c *redact.Cleaner) {
	r.Later = r.Later && !r.Keep
	r.Content = strings.TrimSpace(c.Text("content", r.Content))
	r.Title = c.Text("title", r.Title)
	r.Tags = slices.Clone(r.Tags)
	for i, tag := range r.Tags {
		r.Tags[i] = c.Text(fmt.Sprintf("tags[%d]", i), tag)
	}
}

// consolidate repeats attempts while similar memories change.
func (s *Service) consolidate(ctx context.Context, req Request, meta store.Meta) (Decision, error) {
	given := req.from // of Pending, which reads a changed log itself
	for i, logged := 0, 0; i < maxAttempts && logged < logAttempts; {
		if i+logged > 0 {
			if err := s.waitDurable(ctx, req.Space); err != nil {
				return Decision{}, err
			}
		}
		d, err := s.tryConsolidate(ctx, &req, meta, i == 0)
		switch {
		case errors.Is(err, errStalePlan):
			i++
		case errors.Is(err, errLogChanged) && given == nil:
			logged++
			if req.from, err = s.readCandidate(req.Space, req.from.date, req.from.entry.ID); err != nil {
				return Decision{}, err
			}
		default:
			return d, err
		}
	}
	return Decision{}, fmt.Errorf("consolidate: gave up after too many conflicting concurrent changes: %w",
		memory.ErrBusy)
}

// waitDurable waits until every staged operation is durable. Readers see durable state only, so without the wait the
// next attempt could miss the change that made this one stale.
func (s *Service) waitDurable(ctx context.Context, space string) error {
	_, err := s.store.Update(ctx, store.Meta{Space: space, Actor: journal.ActorConsolidate}, func(*store.Tx) error {
		return nil
	})
	if err != nil {
		return fmt.Errorf("wait for concurrent changes: %w", err)
	}
	return nil
}

// tryConsolidate makes one attempt. The error is errStalePlan or errLogChanged when another one is needed; req.from is
// then the log entry that holds the candidate, if it has one.
func (s *Service) tryConsolidate(ctx context.Context, req *Request, meta store.Meta, first bool) (Decision, error) {
	if req.WriteTo == ToDaily || req.Later {
		return s.appendDaily(ctx, *req, meta)
	}
	out, purged := Decision{DecidedBy: ByRules}, s.store.LastPurge()
	var err error
	if s.disabled {
		// without similar memories the candidate is new, unless it is an exact repeat
	} else if out.Similar, err = s.similar(ctx, req.Space, req.Content); err != nil {
		return Decision{}, err
	}
	byRules := decide(*req, candidateOf(*req), out.Similar)
	item := byRules
	if q, ok := questionOf(*req, out.Similar, byRules); ok && s.model != nil && !s.disabled && !req.Keep && first &&
		s.store.Writable(req.Space) == nil {
		s.replies.invalidate(purged)
		if err := s.persist(ctx, req, q); err != nil {
			return Decision{}, err
		}
		candidate := candidateOf(*req)
		byRules = decide(*req, candidate, out.Similar)
		if item, out.Note, err = s.consultModel(ctx, *req, q, candidate, byRules, purged); err != nil {
			return Decision{}, err
		}
	}
	p := guard.Plan{Space: req.Space, Session: req.Session, Items: []guard.Item{item},
		Source: memory.SourceUser}
	if err := s.attachReviews(&p, byRules.Target); err != nil {
		return Decision{}, err
	}
	return s.update(ctx, *req, meta, &out, &item, func(tx *store.Tx) ([]journal.Outcome, error) {
		if s.store.LastPurge() != purged {
			return nil, errStalePlan // the memories read and the reply may contain purged text
		}
		return s.apply(tx, *req, p, &out, &item, byRules)
	})
}

// apply runs in the transaction of item, the only one of p. If the guards reject a model's item, byRules replaces it.
func (s *Service) apply(tx *store.Tx, req Request, p guard.Plan, out *Decision, item *guard.Item,
	byRules guard.Item) ([]journal.Outcome, error) {
	if item.Model {
		reason := refusal(p, tx)
		if isStale(reason) {
			return nil, errStalePlan
		}
		out.DecidedBy = ByModel
		if reason != "" {
			out.Note, out.DecidedBy = "the model's proposal was rejected: "+reason, ByRules
			var err error
			if p, err = withoutRefused(p, byRules, tx); err != nil {
				return nil, err
			}
			*item = p.Items[0]
		}
	}
	outcomes := guard.Preview(p, tx)
	if o := outcomes[0]; o.Status == journal.Rejected && isStale(o.Reason) {
		return nil, errStalePlan
	}
	if err := req.from.recordDecision(s, tx, *item, outcomes[0]); err != nil {
		return nil, err
	}
	if err := guard.Apply(tx, p); err != nil || !req.DryRun {
		return nil, err
	}
	out.Changes = tx.Changes()
	return outcomes, errDryRun
}

// refusal returns why the guards refuse a part of the only item of p, "" if they do not.
func refusal(p guard.Plan, tx *store.Tx) string {
	if o := guard.Preview(p, tx)[0]; o.Status == journal.Rejected {
		return o.Reason
	}
	return guard.RefusedRetirements(p, tx)[0]
}

// isStale reports whether a reason means that a target changed since the decision.
func isStale(reason string) bool {
	return reason == guard.ReasonStale || reason == guard.ReasonInactive
}

// withoutRefused replaces the refused item of a model by that of the rules, so that the candidate is not lost. What
// waits for a person becomes a review entry, unless the rules do the same. A retirement that was refused leaves a new
// memory, which the entry names; so that item stays when the rules know nothing better.
func withoutRefused(p guard.Plan, byRules guard.Item, tx *store.Tx) (guard.Plan, error) {
	model := p.Items[0]
	if model.Action == guard.Delete && byRules.Action == guard.Add {
		p.Items[0].Reason = byRules.Reason
		return p, nil
	}
	if model.Action != guard.Delete || byRules.Target != model.Target {
		review, err := guard.ForReview(p, tx)
		if err != nil {
			return p, err
		}
		p.Entries = review
	}
	p.Items = []guard.Item{byRules}
	return p, nil
}

// attachReviews prepares the plan for review items: their time, and the earlier proposals that need no repetition.
// other is a target that may replace the plan's.
func (s *Service) attachReviews(p *guard.Plan, other string) (err error) {
	p.At = s.now().In(s.location)
	if s.reviews == nil {
		return nil
	}
	targets := p.Targets()
	if other != "" {
		targets = append(targets, other)
	}
	if p.Reviewed, err = s.reviews.ProposalsFor(p.Space, targets); err != nil {
		return fmt.Errorf("find earlier review items: %w", err)
	}
	return nil
}

// candidateOf returns the undecided item of a request.
func candidateOf(req Request) guard.Item {
	m := memory.Memory{
		Category: cmp.Or(req.Category, memory.General), Content: req.Content, Salience: memory.DefaultSalience,
		Source: memory.SourceUser,
		Title:  req.Title, Tags: req.Tags, Confidence: 1,
	}
	if req.Salience != nil {
		m.Salience = *req.Salience
	}
	if req.Confidence != nil {
		m.Confidence = *req.Confidence
	}
	if e := (memory.Evidence{Session: req.Session}); req.from != nil {
		m.ID = store.NewID() // needed now, because the log entry records it
		m.CreatedAt = req.from.at
		e.Log, e.Entry = req.from.date, req.from.entry.ID
		m.SetEvidence([]memory.Evidence{e})
	} else if req.Session != "" {
		m.SetEvidence([]memory.Evidence{e})
	}
	return guard.Item{Action: guard.Add, Reason: "NEW", Memory: m, Keep: req.Keep}
}

// decide returns the rules' decision.
func decide(req Request, candidate guard.Item, hits []search.Hit) guard.Item {
	near := make([]guard.Neighbour, len(hits))
	for i, h := range hits {
		near[i] = guard.Neighbour{Memory: h.Memory, Score: h.Score}
	}
	return decideNearIdentical(req, guard.Decide(candidate, near), near)
}

// update runs do in one transaction and converts its outcome to a decision. do may change about and item.
func (s *Service) update(ctx context.Context, req Request, meta store.Meta, about *Decision, item *guard.Item,
	do func(*store.Tx) ([]journal.Outcome, error)) (Decision, error) {
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
		return Decision{}, fmt.Errorf("the idempotency key %q belongs to another request: %w", req.Key,
			memory.ErrKeyReused)
	}
	o := res.Outcomes[0]
	out.ID, out.Status, out.Reason, out.Action = o.ID, o.Status, o.Reason, guard.Noop
	if o.Status == journal.Applied {
		switch o.Reason {
		case guard.ReasonUpdated:
			out.Action = guard.Update
		case guard.ReasonRetired, guard.ReasonSuperseded:
			out.Action = guard.Delete
		default:
			out.Action = guard.Add
		}
		if !out.Replayed && item.Reason != "" {
			out.Reason = item.Reason
		}
	}
	s.logger.DebugContext(ctx, "candidate consolidated", "space", meta.Space, "action", string(out.Action), "reason",
		out.Reason, "op", out.Op)
	return out, nil
}
