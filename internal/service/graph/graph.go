// Package graph keeps a knowledge graph in the memories of a space: entities, observations about them, and relations
// between them. Each of those is one memory, whose text says it in words and whose structured data says what it is in
// the graph:
//
//	Alice (person)          {"graph":{"kind":"entity","name":"Alice","type":"person"}}
//	Alice: likes green tea  {"graph":{"kind":"observation","entity":"Alice"}}
//	Alice works at Acme     {"graph":{"kind":"relation","from":"Alice","to":"Acme","type":"works at"}}
//
// The text of an observation is taken from the memory's text, so that an edit of the memory is one of the graph. Each
// call is one operation.
package graph

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/graphform"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// Limits of one thing, in characters. An observation has memory.MaxContent together with the name of its entity.
const (
	MaxName = memory.MaxTitle
	MaxType = 200
)

// Source is that of the memories made here.
const Source = graphform.Source

// partOf says what a memory is in the graph; false when it is not a part of it, or not any more.
func partOf(m *memory.Memory, now time.Time) (graphform.Part, bool) {
	if m == nil || !m.IsActive() || m.Expired(now) {
		return graphform.Part{}, false
	}
	return graphform.Of(m)
}

// Entity is something with a name.
type Entity struct {
	Name         string
	Type         string
	Observations []string
}

// Relation is a directed, typed link between two entities.
type Relation struct{ From, To, Type string }

// Observations are those of one entity.
type Observations struct {
	Entity   string
	Contents []string
}

// Service is safe for concurrent use.
type Service struct {
	store *store.Store
	now   func() time.Time
}

// New returns a Service on s.
func New(s *store.Store, now func() time.Time) *Service { return &Service{store: s, now: now} }

// present returns the part that m stands for as it is now, nil when it is not there. A memory that was rewritten by
// hand is no longer the one.
func present(tx *store.Tx, m *memory.Memory) *memory.Memory {
	want, _ := partOf(m, tx.Now())
	same := func(have *memory.Memory) bool {
		p, ok := partOf(have, tx.Now())
		if !ok || p.Kind != want.Kind {
			return false
		}
		if p.Kind == graphform.KindObservation {
			return p.Entity == want.Entity &&
				memory.Normalize(p.Text(have)) == memory.Normalize(want.Text(m))
		}
		return p.Name == want.Name && p.From == want.From && p.To == want.To &&
			(p.Kind == graphform.KindEntity || p.Type == want.Type)
	}
	if have := tx.Memory(m.ID); same(have) {
		return have
	}
	if have := tx.Equal(m.Category, m.Content); same(have) {
		return have
	}
	return nil
}

// put writes a part that is not present. What was retired under its id comes back as new.
func put(tx *store.Tx, m *memory.Memory) error {
	if old := tx.Memory(m.ID); old != nil {
		if old.IsActive() && !old.Expired(tx.Now()) { // somebody made something else of it
			m.ID = store.NewID()
		} else {
			m.Pinned, m.Tags = old.Pinned, slices.Clone(old.Tags)
		}
	}
	m.CreatedAt = tx.Now()
	tx.Unforget(m.Content)
	return tx.Put(m)
}

// retire takes a part out of the graph.
func retire(tx *store.Tx, m *memory.Memory) error {
	c := m.Clone()
	c.Status = memory.Retired
	if !tx.IsForgotten(m.Content) {
		tx.Forget(m.Content)
	}
	return tx.Put(c)
}

// applied is the outcome of something new.
func applied(id string) journal.Outcome { return journal.Outcome{ID: id, Status: journal.Applied} }

// duplicate is the outcome of something that exists.
func duplicate(id string) journal.Outcome {
	return journal.Outcome{ID: id, Status: journal.Duplicate, Reason: memorysvc.ReasonEqual}
}

// missing is the outcome of something that does not exist.
func missing(id string) journal.Outcome {
	return journal.Outcome{ID: id, Status: journal.Rejected, Reason: memorysvc.ReasonNotFound}
}

// redact takes out of texts what must not be stored.
func redact(texts ...*string) {
	for _, s := range texts {
		*s = memorysvc.CleanText(*s)
	}
}

// checkName validates the name of an entity or of a relation type.
func checkName(check *memory.Check, field, name string) { check.Text(field, name, MaxName, true) }

// checkCount refuses an empty call and one above MaxItems.
func checkCount(check *memory.Check, field string, n int) {
	if n < 1 || n > memory.MaxBatch {
		check.Add(field, "OUT_OF_RANGE", "has %d things; it must have 1 to %d", n, memory.MaxBatch)
	}
}

// checkRelations redacts and checks.
func checkRelations(relations []Relation) error {
	var check memory.Check
	checkCount(&check, "relations", len(relations))
	for i := range relations {
		r, at := &relations[i], fmt.Sprintf("relations[%d].", i)
		redact(&r.From, &r.To, &r.Type)
		checkName(&check, at+"from", r.From)
		checkName(&check, at+"to", r.To)
		check.Text(at+"relation_type", r.Type, MaxType, true)
	}
	return check.Err()
}

// checkObservations redacts and checks.
func checkObservations(all []Observations) error {
	var check memory.Check
	n := 0
	for i := range all {
		o, at := &all[i], fmt.Sprintf("observations[%d].", i)
		redact(&o.Entity)
		checkName(&check, at+"entity_name", o.Entity)
		for j := range o.Contents {
			checkObservation(&check, fmt.Sprintf("%scontents[%d]", at, j), o.Entity, &o.Contents[j])
		}
		n += len(o.Contents)
	}
	checkCount(&check, "observations", max(n, len(all)))
	return check.Err()
}

// checkObservation validates an observation together with its entity's name, and removes surrounding white space.
func checkObservation(check *memory.Check, field, entity string, text *string) {
	redact(text)
	check.Text(field, *text, memory.MaxContent-len([]rune(entity))-2, true)
}

// update runs fn as one operation of a client.
func (s *Service) update(ctx context.Context, meta store.Meta, fn func(tx *store.Tx) error) (store.Result, error) {
	if meta.Actor == "" {
		meta.Actor = journal.ActorClient
	}
	var check memory.Check
	check.Text("reason", meta.Reason, memory.MaxTitle, false)
	if meta.Session != "" {
		check.ID("session_id", meta.Session)
	}
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	redact(&meta.Reason)
	return s.store.Update(ctx, meta, fn)
}
