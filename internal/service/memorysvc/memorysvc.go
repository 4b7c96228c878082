// Package memorysvc is what clients may do with memories directly: add, change, retire, restore, link, list and count
// them, keep the rolling summary, and append to the daily logs. It fills in defaults, redacts, recognises what is
// known already, and leaves deciding what is worth remembering to others.
package memorysvc

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Reasons of outcomes.
const (
	ReasonEqual    = "EXACT_DUPLICATE" // an active memory of the category says the same; the outcome's id names it
	ReasonIDExists = "ID_EXISTS"       // the id belongs to a memory with another content
	ReasonNotFound = "NOT_FOUND"
	ReasonState    = "UNCHANGED" // it already is as asked for
	ReasonRedacted = "REDACTED"  // written, but without the secrets that the text held
	ReasonRevived  = "REVIVED"   // an equal memory was retired or had expired and is active again
)

// maxAhead is how far in the future a memory or log entry may have been made: clocks of machines differ.
const maxAhead = 24 * time.Hour

// maxReason is the longest reason of an operation, in characters.
const maxReason = 200

// Service is safe for concurrent use.
type Service struct {
	store   *store.Store
	now     func() time.Time
	rows    rows
	tallies tallies
}

// New returns a Service on s. The location of now's times is the time zone of daily logs.
func New(s *store.Store, now func() time.Time) *Service { return &Service{store: s, now: now} }

// Draft is a memory to be added. Zero fields get their defaults.
type Draft struct {
	Memory     *memory.Memory
	Salience   *float64 // in place of Memory.Salience: nil is memory.DefaultSalience
	Confidence *float64 // in place of Memory.Confidence: nil is 1
	Keep       bool     // what looks like a secret stays
}

// Add stores memories as one operation; there is one outcome per draft. One invalid draft refuses all, with an
// *memory.InvalidError that names every violation. What was forgotten before is remembered again.
//
// Durable on return. The drafts belong to Add.
func (s *Service) Add(ctx context.Context, meta store.Meta, drafts []Draft) (store.Result, error) {
	var check memory.Check
	checkMeta(&check, &meta)
	checkCount(&check, "items", len(drafts))
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	taken, err := prepareAll(drafts, s.now().Add(maxAhead))
	if err != nil {
		return store.Result{}, err
	}
	return s.store.Update(ctx, meta, func(tx *store.Tx) error {
		for i := range drafts {
			outcome, err := add(tx, drafts[i].Memory)
			if err != nil {
				return err
			}
			tx.Report(withRedactions(outcome, &taken[i]))
		}
		return nil
	})
}

// withRedactions adds to an outcome what was taken out of the item, also when a memory with the rest is known already.
func withRedactions(o journal.Outcome, c *redact.Cleaner) journal.Outcome {
	o.Redactions = c.Found
	if c.Changed && o.Status == journal.Applied && o.Reason == "" {
		o.Reason = ReasonRedacted
	}
	return o
}

// prepareAll prepares every draft, a large batch on all processors: looking for secrets is most of what a batch costs.
func prepareAll(drafts []Draft, latest time.Time) (taken []redact.Cleaner, err error) {
	const share = 16 // drafts worth a goroutine
	taken = make([]redact.Cleaner, len(drafts))
	checks := make([]memory.Check, len(drafts))
	workers := min(runtime.GOMAXPROCS(0), (len(drafts)+share-1)/share)
	work := func(first int) {
		for i := first; i < len(drafts); i += workers {
			taken[i] = prepare(&checks[i], fmt.Sprintf("items[%d].", i), &drafts[i], latest)
		}
	}
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() { work(w) })
	}
	work(0) // here: waking another goroutine takes longer than one draft
	wg.Wait()
	var all memory.Check
	for i := range checks {
		all.Join(&checks[i])
	}
	return taken, all.Err()
}

// prepare fills in defaults, redacts and checks. It returns what was taken out.
func prepare(check *memory.Check, prefix string, d *Draft, latest time.Time) redact.Cleaner {
	m := d.Memory
	named := m.ID != "" // by the client
	if !named {
		m.ID = store.NewID()
	}
	if m.Category == "" {
		m.Category = memory.General
	}
	if m.Source == "" {
		m.Source = memory.SourceUser
	}
	m.Salience, m.Confidence, m.Status = memory.DefaultSalience, 1, memory.Active
	if d.Salience != nil {
		m.Salience = *d.Salience
	}
	if d.Confidence != nil {
		m.Confidence = *d.Confidence
	}
	if m.CreatedAt.After(latest) {
		check.Add(prefix+"created_at", "IN_FUTURE", "is more than 24 hours ahead of the daemon's clock")
	}
	if m.ContentAt().After(latest) {
		check.Add(prefix+"content_at", "IN_FUTURE", "is more than 24 hours ahead of the daemon's clock")
	}
	if named && looksSecret(m.ID) {
		check.Add(prefix+"id", "SECRET", "looks like a secret; ids are in every listing and cannot be redacted")
	}
	given := *m
	taken := redact.Cleaner{Keep: d.Keep}
	redactMemory(&taken, m)
	if taken.Changed && m.Content == "" && given.Content != "" {
		check.Add(prefix+"content", "NOTHING_LEFT", "holds nothing but what must not be stored")
		m.Content = "-" // said already
	}
	check.Memory(prefix, m)
	return taken
}

// add stores m, unless an active memory of the same category says the same.
func add(tx *store.Tx, m *memory.Memory) (journal.Outcome, error) {
	if known := tx.Memory(m.ID); known != nil {
		return addKnown(tx, known, m)
	}
	if equal := tx.Equal(m.Category, m.Content); equal != nil {
		if !equal.Expired(tx.Now()) {
			return journal.Outcome{ID: equal.ID, Status: journal.Duplicate, Reason: ReasonEqual}, nil
		}
		return revive(tx, equal, m)
	}
	tx.Unforget(m.Content)
	return journal.Outcome{ID: m.ID, Status: journal.Applied}, tx.Put(m)
}

// addKnown decides about an explicit id that is in use.
func addKnown(tx *store.Tx, known, m *memory.Memory) (journal.Outcome, error) {
	switch {
	case known.Category != m.Category || memory.Normalize(known.Content) != memory.Normalize(m.Content):
		return journal.Outcome{ID: m.ID, Status: journal.Rejected, Reason: ReasonIDExists}, nil
	case known.IsActive() && !known.Expired(tx.Now()):
		return journal.Outcome{ID: m.ID, Status: journal.Duplicate, Reason: ReasonEqual}, nil
	case known.Status == memory.Superseded:
		return journal.Outcome{ID: m.ID, Status: journal.Rejected, Reason: ReasonIDExists}, nil
	}
	if equal := tx.Equal(m.Category, m.Content); equal != nil && equal.ID != m.ID {
		return journal.Outcome{ID: equal.ID, Status: journal.Duplicate, Reason: ReasonEqual}, nil
	}
	return revive(tx, known, m)
}

// revive makes a retired or expired memory current again because a new one says the same.
func revive(tx *store.Tx, old, m *memory.Memory) (journal.Outcome, error) {
	c := old.Clone()
	c.Status = memory.Active
	c.SetSupersededBy("")
	c.SetExpiresAt(m.ExpiresAt())
	tx.Unforget(c.Content)
	return journal.Outcome{ID: c.ID, Status: journal.Applied, Reason: ReasonRevived}, tx.Put(c)
}

// Get returns the memories that are known, in the order of ids, and the ids that are not.
// memory.ErrNotFound when none is.
func (s *Service) Get(space string, ids []string) (found []*memory.Memory, missing []string, err error) {
	var check memory.Check
	space = checkSpace(&check, space)
	checkCount(&check, "ids", len(ids))
	if err := check.Err(); err != nil {
		return nil, nil, err
	}
	view := s.store.Space(space)
	for _, id := range ids {
		if m, err := view.Get(id); err == nil {
			found = append(found, m)
		} else {
			missing = append(missing, id)
		}
	}
	if len(found) == 0 {
		return nil, nil, &memory.NotFoundError{Kind: "memory", Name: ids[0]}
	}
	return found, missing, nil
}

// checkMeta checks what is the same in all writes, and fills in who asks.
func checkMeta(check *memory.Check, meta *store.Meta) {
	meta.Space = checkSpace(check, meta.Space)
	if meta.Actor == "" {
		meta.Actor = journal.ActorClient
	}
	if meta.Session != "" {
		check.ID("session_id", meta.Session)
	}
	if meta.Key != "" {
		check.ID("idempotency_key", meta.Key)
	}
	check.Text("reason", meta.Reason, maxReason, false)
	meta.Reason = redactText(meta.Reason)
}

// checkSpace validates a space name and returns it, or the default space.
func checkSpace(check *memory.Check, space string) string {
	if space == "" {
		return memory.DefaultSpace
	}
	check.Slug("space", space)
	return space
}

// checkCount refuses an empty batch and one above memory.MaxBatch.
func checkCount(check *memory.Check, field string, n int) {
	if n < 1 || n > memory.MaxBatch {
		check.Add(field, "OUT_OF_RANGE", "has %d items; it must have 1 to %d", n, memory.MaxBatch)
	}
}

// checkRevision compares the revision of m with the expected one; 0 accepts any. Error: memory.ErrStale.
func checkRevision(m *memory.Memory, expected int64) error {
	if expected != 0 && m.Revision != expected {
		return &memory.StaleError{Kind: "memory", Name: m.ID, Expected: expected, Current: m.Revision}
	}
	return nil
}
