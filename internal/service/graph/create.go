package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/graphform"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// CreateEntities adds entities with their observations, and returns those that were new, as they are kept. One whose
// name is taken is left as it is, also by an earlier one of the same call. There is one outcome per entity. Error:
// *memory.InvalidError. Durable on return.
func (s *Service) CreateEntities(ctx context.Context, meta store.Meta, entities []Entity) (store.Result, []Entity,
	error) {
	var check memory.Check
	n := 0
	for i := range entities {
		e, at := &entities[i], fmt.Sprintf("entities[%d].", i)
		// Redacted before it is checked: the id is made of the name as it is stored.
		redact(&e.Name, &e.Type)
		checkName(&check, at+"name", e.Name)
		check.Text(at+"entity_type", e.Type, MaxType, false)
		for j := range e.Observations {
			checkObservation(&check, fmt.Sprintf("%sobservations[%d]", at, j), e.Name, &e.Observations[j])
		}
		e.Observations = unique(e.Observations)
		n += 1 + len(e.Observations)
	}
	checkCount(&check, "entities", n)
	if err := check.Err(); err != nil {
		return store.Result{}, nil, err
	}
	result, err := s.update(ctx, meta, func(tx *store.Tx) error {
		for i := range entities {
			outcome, err := createEntity(tx, &entities[i])
			if err != nil {
				return err
			}
			tx.Report(outcome)
		}
		return nil
	})
	var created []Entity
	for i, o := range result.Outcomes {
		if o.Status == journal.Applied && i < len(entities) {
			created = append(created, entities[i])
		}
	}
	return result, created, err
}

// createEntity stores an entity with its observations, unless one of that name exists.
func createEntity(tx *store.Tx, e *Entity) (journal.Outcome, error) {
	m := graphform.Entity(e.Name, e.Type)
	if known := present(tx, m); known != nil {
		return duplicate(known.ID), nil
	}
	if err := put(tx, m); err != nil {
		return journal.Outcome{}, err
	}
	for _, text := range e.Observations {
		if _, err := observe(tx, e.Name, text); err != nil {
			return journal.Outcome{}, err
		}
	}
	return applied(m.ID), nil
}

// observe adds an observation to an entity that exists.
func observe(tx *store.Tx, entity, text string) (journal.Outcome, error) {
	m := graphform.Observation(entity, text)
	if known := present(tx, m); known != nil {
		return duplicate(known.ID), nil
	}
	if err := put(tx, m); err != nil {
		return journal.Outcome{}, err
	}
	return applied(m.ID), nil
}

// AddObservations adds observations to entities, and returns for each item those that were new. There is one outcome
// per observation. Errors: *memory.NotFoundError when one of the entities does not exist, and then nothing was added;
// *memory.InvalidError. Durable on return.
func (s *Service) AddObservations(ctx context.Context, meta store.Meta, all []Observations) (store.Result,
	[]Observations, error) {
	if err := checkObservations(all); err != nil {
		return store.Result{}, nil, err
	}
	result, err := s.update(ctx, meta, func(tx *store.Tx) error {
		for _, o := range all {
			if err := exists(tx, o.Entity); err != nil {
				return err
			}
			for _, text := range o.Contents {
				outcome, err := observe(tx, o.Entity, text)
				if err != nil {
					return err
				}
				tx.Report(outcome)
			}
		}
		return nil
	})
	if err != nil {
		return store.Result{}, nil, err
	}
	added, next := make([]Observations, len(all)), 0
	for i, o := range all {
		added[i].Entity = o.Entity
		for _, text := range o.Contents {
			// Outcomes come in the order of the observations.
			if next < len(result.Outcomes) && result.Outcomes[next].Status == journal.Applied {
				added[i].Contents = append(added[i].Contents, text)
			}
			next++
		}
	}
	return result, added, nil
}

// exists returns a *memory.NotFoundError unless there is an entity of this name.
func exists(tx *store.Tx, name string) error {
	if present(tx, graphform.Entity(name, "")) == nil {
		return &memory.NotFoundError{Kind: "entity", Name: name}
	}
	return nil
}

// CreateRelations adds relations, and returns those that were new. There is one outcome per relation. The entities need
// not exist: agents made for the reference server write relations first. Error: *memory.InvalidError. Durable on
// return.
func (s *Service) CreateRelations(ctx context.Context, meta store.Meta, relations []Relation) (store.Result, []Relation,
	error) {
	if err := checkRelations(relations); err != nil {
		return store.Result{}, nil, err
	}
	result, err := s.update(ctx, meta, func(tx *store.Tx) error {
		for _, r := range relations {
			m := graphform.Relation(r.From, r.Type, r.To)
			if known := present(tx, m); known != nil {
				tx.Report(duplicate(known.ID))
				continue
			}
			if err := put(tx, m); err != nil {
				return err
			}
			tx.Report(applied(m.ID))
		}
		return nil
	})
	var created []Relation
	for i, o := range result.Outcomes {
		if o.Status == journal.Applied && i < len(relations) {
			created = append(created, relations[i])
		}
	}
	return result, created, err
}

// unique keeps the first of texts that are the same.
func unique(texts []string) []string {
	var out []string
	for _, t := range texts {
		if !slices.ContainsFunc(out, func(o string) bool { return memory.Normalize(o) == memory.Normalize(t) }) {
			out = append(out, t)
		}
	}
	return out
}
