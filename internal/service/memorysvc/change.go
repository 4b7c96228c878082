package memorysvc

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Patch holds new values; nil leaves a field as it is, a pointer to a zero value clears it.
type Patch struct {
	Content, Category, Title, Description, Source *string
	Salience, Confidence                          *float64
	Pinned                                        *bool
	ExpiresAt                                     *time.Time
	Tags                                          *[]string
	Context                                       *memory.Context
	StructuredData                                *json.RawMessage
	Relations                                     *[]memory.Relation
	Evidence                                      *[]memory.Evidence

	Keep bool // what looks like a secret stays
}

// Update changes one memory and returns it as it is then. An expected revision other than 0 must be the current one.
// Errors: *memory.NotFoundError, *memory.StaleError, *memory.InvalidError, and *memory.ExistsError when another
// active memory of the category says the same already. Durable on return.
func (s *Service) Update(ctx context.Context, meta store.Meta, id string, expected int64, patch Patch) (store.Result,
	*memory.Memory, error) {
	var check memory.Check
	return s.changeOne(ctx, meta, &check, id, expected, func(tx *store.Tx, m *memory.Memory) (taken redact.Cleaner,
		err error) {
		before, was := m.Content, m.Clone()
		patch.apply(m)
		taken.Keep = patch.Keep
		if redactChange(&taken, m, was); taken.Changed && m.Content == "" {
			check.Add("patch.content", "NOTHING_LEFT", "holds nothing but what must not be stored")
			return taken, check.Err()
		}
		check.Memory("patch.", m)
		if err := check.Err(); err != nil {
			return taken, err
		}
		// Two active memories of a category never say the same.
		if equal := tx.Equal(m.Category, m.Content); equal != nil && equal.ID != id && m.IsActive() {
			return taken, &memory.ExistsError{Kind: "memory", Name: equal.ID}
		}
		if m.IsActive() && m.Content != before {
			tx.Unforget(m.Content)
		}
		return taken, nil
	})
}

// apply sets the fields of m that the patch has values for.
func (p *Patch) apply(m *memory.Memory) {
	set(&m.Content, p.Content)
	set(&m.Category, p.Category)
	set(&m.Title, p.Title)
	set(&m.Source, p.Source)
	set(&m.Salience, p.Salience)
	set(&m.Confidence, p.Confidence)
	set(&m.Pinned, p.Pinned)
	if p.Description != nil {
		m.SetDescription(*p.Description)
	}
	if p.ExpiresAt != nil {
		m.SetExpiresAt(*p.ExpiresAt)
	}
	if p.Tags != nil {
		m.Tags = slices.Clone(*p.Tags)
	}
	if p.Relations != nil {
		m.SetRelations(slices.Clone(*p.Relations))
	}
	if p.Evidence != nil {
		m.SetEvidence(slices.Clone(*p.Evidence))
	}
	if p.StructuredData != nil {
		m.SetStructuredData(*p.StructuredData)
	}
	if p.Context == nil {
		return
	}
	c := *p.Context
	if m.Context() != nil {
		// Fields of newer versions and other programs survive a change of the known ones.
		c.Extra = m.Context().Extra
	}
	if reflect.ValueOf(c).IsZero() {
		m.SetContext(nil)
	} else {
		m.SetContext(&c)
	}
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// Link adds a relation to a memory, or gives an existing one of the same type and target a new strength.
// Errors as of Update; the target must be known too. Durable on return.
func (s *Service) Link(ctx context.Context, meta store.Meta, id string, expected int64,
	r memory.Relation) (store.Result, *memory.Memory, error) {
	check := checkRelation(id, r)
	return s.changeOne(ctx, meta, check, id, expected, func(tx *store.Tx, m *memory.Memory) (none redact.Cleaner,
		err error) {
		if tx.Memory(r.Target) == nil {
			return none, &memory.NotFoundError{Kind: "memory", Name: r.Target}
		}
		if i := relationIndex(m, r); i >= 0 {
			m.Relations()[i] = r
			return none, nil
		}
		m.SetRelations(append(m.Relations(), r))
		return none, nil
	})
}

// Unlink removes the relation of the same type and target. Errors as of Update. Durable on return.
func (s *Service) Unlink(ctx context.Context, meta store.Meta, id string, expected int64,
	r memory.Relation) (store.Result, *memory.Memory, error) {
	check := checkRelation(id, r)
	return s.changeOne(ctx, meta, check, id, expected, func(_ *store.Tx, m *memory.Memory) (none redact.Cleaner,
		err error) {
		if i := relationIndex(m, r); i >= 0 {
			m.SetRelations(slices.Delete(m.Relations(), i, i+1))
		}
		return none, nil
	})
}

// checkRelation validates a relation of a memory.
func checkRelation(id string, r memory.Relation) *memory.Check {
	var check memory.Check
	check.Slug("relation.type", r.Type)
	check.ID("relation.target", r.Target)
	check.Unit("relation.strength", r.Strength)
	if r.Target == id {
		check.Add("relation.target", "SELF", "must be another memory")
	}
	return &check
}

// relationIndex returns the index of the relation with the same type and target, -1 without one.
func relationIndex(m *memory.Memory, r memory.Relation) int {
	return slices.IndexFunc(m.Relations(), func(have memory.Relation) bool {
		return have.Type == r.Type && have.Target == r.Target
	})
}

// changeOne runs change on a copy of a memory and stores the copy when it differs. change returns what it took out.
func (s *Service) changeOne(ctx context.Context, meta store.Meta, check *memory.Check, id string, expected int64,
	change func(*store.Tx, *memory.Memory) (redact.Cleaner, error),
) (store.Result, *memory.Memory, error) {
	checkMeta(check, &meta)
	check.ID("id", id)
	if err := check.Err(); err != nil {
		return store.Result{}, nil, err
	}
	var after *memory.Memory
	result, err := s.store.Update(ctx, meta, func(tx *store.Tx) error {
		m := tx.Memory(id)
		if m == nil {
			return &memory.NotFoundError{Kind: "memory", Name: id}
		}
		if err := checkRevision(m, expected); err != nil {
			return err
		}
		after = m.Clone()
		taken, err := change(tx, after)
		if err != nil {
			return err
		}
		tidy(after)
		if reflect.DeepEqual(m, after) {
			tx.Report(withRedactions(journal.Outcome{ID: id, Status: journal.Duplicate, Reason: ReasonState}, &taken))
			return nil
		}
		tx.Report(withRedactions(journal.Outcome{ID: id, Status: journal.Applied}, &taken))
		return tx.Put(after)
	})
	if err != nil {
		return store.Result{}, nil, err
	}
	// The change ran in an earlier call; this one answers with what the memory is now.
	if result.Replayed {
		after, err = s.store.Space(meta.Space).Get(id)
	}
	return result, after, err
}

// tidy makes empty lists nil, as the journal decodes them.
func tidy(m *memory.Memory) {
	if len(m.Tags) == 0 {
		m.Tags = nil
	}
	if len(m.Relations()) == 0 {
		m.SetRelations(nil)
	}
	if len(m.Evidence()) == 0 {
		m.SetEvidence(nil)
	}
	if len(m.Supersedes()) == 0 {
		m.SetSupersedes(nil)
	}
	if len(m.StructuredData()) == 0 {
		m.SetStructuredData(nil)
	}
}
