package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/graphform"
	"github.com/memsidecar/memsidecar/internal/store"
)

// DeleteEntities retires entities with their observations and relations. There is one outcome per name. Error:
// *memory.InvalidError. Durable on return; works on a full disk too, as do the other deletions.
func (s *Service) DeleteEntities(ctx context.Context, meta store.Meta, names []string) (store.Result, error) {
	var check memory.Check
	checkCount(&check, "names", len(names))
	for i := range names {
		redact(&names[i])
		checkName(&check, fmt.Sprintf("names[%d]", i), names[i])
	}
	if err := check.Err(); err != nil {
		return store.Result{}, err
	}
	meta.Essential = true
	return s.update(ctx, meta, func(tx *store.Tx) error {
		going := map[string]bool{}
		for _, name := range names {
			m := present(tx, graphform.Entity(name, ""))
			if m == nil || going[name] {
				tx.Report(missing(graphform.IDOf(graphform.KindEntity, name)))
				continue
			}
			going[name] = true
			tx.Report(applied(m.ID))
		}
		if len(going) == 0 {
			return nil
		}
		var parts []*memory.Memory
		// One pass over the space for all names: parts are not indexed by entity.
		for m := range tx.Memories() {
			p, ok := partOf(m, tx.Now())
			if ok && (going[p.Name] && p.Kind == graphform.KindEntity || going[p.Entity] && p.Kind == graphform.KindObservation ||
				(going[p.From] || going[p.To]) && p.Kind == graphform.KindRelation) {
				parts = append(parts, m)
			}
		}
		return retireAll(tx, parts)
	})
}

// retireAll retires memories inside a transaction.
func retireAll(tx *store.Tx, parts []*memory.Memory) error {
	for _, m := range parts {
		if err := retire(tx, m); err != nil {
			return err
		}
	}
	return nil
}

// DeleteObservations retires observations, and returns the entities named that do not exist. There is one outcome per
// observation. Error: *memory.InvalidError. Durable on return.
func (s *Service) DeleteObservations(ctx context.Context, meta store.Meta, all []Observations) (store.Result, []string,
	error) {
	if err := checkObservations(all); err != nil {
		return store.Result{}, nil, err
	}
	meta.Essential = true
	result, err := s.update(ctx, meta, func(tx *store.Tx) error {
		for _, o := range all {
			for _, text := range o.Contents {
				m := present(tx, graphform.Observation(o.Entity, text))
				if m == nil {
					tx.Report(missing(graphform.IDOf(graphform.KindObservation, o.Entity, text)))
					continue
				}
				if err := retire(tx, m); err != nil {
					return err
				}
				tx.Report(applied(m.ID))
			}
		}
		return nil
	})
	if err != nil {
		return store.Result{}, nil, err
	}
	var unknown []string
	view := s.store.Space(meta.Space)
	for _, o := range all {
		m, _ := view.Get(graphform.IDOf(graphform.KindEntity, o.Entity))
		if p, ok := partOf(m, s.now()); (!ok || p.Name != o.Entity) && !slices.Contains(unknown, o.Entity) {
			unknown = append(unknown, o.Entity)
		}
	}
	return result, unknown, nil
}

// DeleteRelations retires relations. There is one outcome per relation. Error: *memory.InvalidError. Durable on return.
func (s *Service) DeleteRelations(ctx context.Context, meta store.Meta, relations []Relation) (store.Result, error) {
	if err := checkRelations(relations); err != nil {
		return store.Result{}, err
	}
	meta.Essential = true
	return s.update(ctx, meta, func(tx *store.Tx) error {
		for _, r := range relations {
			m := present(tx, graphform.Relation(r.From, r.Type, r.To))
			if m == nil {
				tx.Report(missing(graphform.IDOf(graphform.KindRelation, r.From, r.Type, r.To)))
				continue
			}
			if err := retire(tx, m); err != nil {
				return err
			}
			tx.Report(applied(m.ID))
		}
		return nil
	})
}
