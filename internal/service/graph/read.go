package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/graphform"
)

// Query selects a part of a graph. The zero value selects all.
type Query struct {
	Space    string   // "" is the default space
	Names    []string // only these entities; none means all
	Contains string   // only entities whose name, type or an observation contains this, in upper or lower case
}

// Read returns the entities that q selects and the relations that begin or end at one of them, in the order they were
// made, as of one moment. Observations of entities that do not exist are left out. Error:
// *memory.InvalidError.
func (s *Service) Read(q Query) ([]Entity, []Relation, error) {
	var check memory.Check
	if q.Space != "" {
		check.Slug("space", q.Space)
	}
	if len(q.Names) > memory.MaxBatch {
		check.Add("names", "TOO_MANY", "has %d names; the limit is %d", len(q.Names), memory.MaxBatch)
	}
	for i, name := range q.Names {
		check.Text(fmt.Sprintf("names[%d]", i), name, memory.MaxContent, false)
	}
	check.Text("contains", q.Contains, memory.MaxContent, false)
	if err := check.Err(); err != nil {
		return nil, nil, err
	}
	entities, relations := s.all(q.Space)
	selected := map[string]bool{}
	entities = slices.DeleteFunc(entities, func(e Entity) bool {
		selected[e.Name] = (len(q.Names) == 0 || slices.Contains(q.Names, e.Name)) &&
			e.contains(strings.ToLower(q.Contains))
		return !selected[e.Name]
	})
	if whole := len(q.Names) == 0 && q.Contains == ""; !whole { // which has relations of entities that do not exist, too
		relations = slices.DeleteFunc(relations, func(r Relation) bool { return !selected[r.From] && !selected[r.To] })
	}
	return entities, relations, nil
}

// contains looks for a text in lower case.
func (e *Entity) contains(text string) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	return text == "" || has(e.Name) || has(e.Type) || slices.ContainsFunc(e.Observations, has)
}

// all is the whole graph of a space.
func (s *Service) all(space string) (entities []Entity, relations []Relation) {
	now := s.now()
	memories := s.store.Space(space).Memories()
	slices.SortStableFunc(memories, func(a, b *memory.Memory) int {
		return cmp.Compare(a.CreatedAt.UnixMicro(), b.CreatedAt.UnixMicro())
	})
	at := map[string]int{}
	var observed []Observations
	for _, m := range memories {
		p, ok := partOf(m, now)
		switch {
		case !ok:
		case p.Kind == graphform.KindEntity:
			if _, twice := at[p.Name]; !twice {
				at[p.Name] = len(entities)
				entities = append(entities, Entity{Name: p.Name, Type: p.Type})
			}
		case p.Kind == graphform.KindObservation:
			observed = append(observed, Observations{Entity: p.Entity, Contents: []string{p.Text(m)}})
		case p.Kind == graphform.KindRelation:
			relations = append(relations, Relation{From: p.From, To: p.To, Type: p.Type})
		}
	}
	// After all entities, since an observation may have been made before its entity was restored.
	for _, o := range observed {
		if i, ok := at[o.Entity]; ok {
			entities[i].Observations = append(entities[i].Observations, o.Contents...)
		}
	}
	return entities, relations
}
