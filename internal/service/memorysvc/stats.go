package memorysvc

import (
	"cmp"
	"maps"
	"slices"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Stats counts what is stored.
type Stats struct {
	Total           int64 // memories in any state
	ByCategory      map[string]int64
	ByStatus        map[memory.Status]int64
	BySource        map[string]int64
	AverageSalience float64
	Accesses        int64
	Sessions        int64
	Days            int64
	LogEntries      int64
	LSN             int64
	Spaces          []SpaceStats
}

// SpaceStats counts one space.
type SpaceStats struct {
	Name          string
	Active, Total int64
	Revision      int64
}

// Stats counts the given spaces, all when none is given. Categories, sources, salience and accesses are those of
// active memories.
func (s *Service) Stats(spaces []string) (Stats, error) {
	var check memory.Check
	for _, space := range spaces {
		checkSpace(&check, space)
	}
	if err := check.Err(); err != nil {
		return Stats{}, err
	}
	out := Stats{ByCategory: map[string]int64{}, ByStatus: map[memory.Status]int64{}, BySource: map[string]int64{},
		LSN: s.store.LSN()}
	all := len(spaces) == 0
	if all {
		if known := s.tallies.allAt(out.LSN); known != nil {
			return known.clone(), nil
		}
		spaces = s.store.Spaces()
	}
	salience, active := 0.0, int64(0)
	// A space that is named twice is counted once.
	for _, name := range slices.Compact(slices.Sorted(slices.Values(spaces))) {
		view := s.store.Space(cmp.Or(name, memory.DefaultSpace))
		counted := s.tallies.of(view)
		one := SpaceStats{Name: view.Name(), Revision: counted.revision, Active: counted.active, Total: counted.total}
		for _, of := range counted.kinds {
			out.ByStatus[of.kind.status] += of.n
			if of.kind.status == memory.Active {
				out.ByCategory[of.kind.category] += of.n
				out.BySource[of.kind.source] += of.n
			}
		}
		out.Accesses += counted.accesses
		salience += counted.salience
		for _, d := range view.Days() {
			out.Days++
			out.LogEntries += int64(d.Entries)
		}
		out.Sessions += int64(len(view.Sessions()))
		out.Total += one.Total
		active += one.Active
		out.Spaces = append(out.Spaces, one)
	}
	if active > 0 {
		out.AverageSalience = salience / float64(active)
	}
	if all {
		s.tallies.keepAll(out.clone())
	}
	return out, nil
}

// clone copies what callers may change; they share Spaces, which they must not.
func (s *Stats) clone() Stats {
	c := *s
	c.ByCategory, c.ByStatus, c.BySource = maps.Clone(s.ByCategory), maps.Clone(s.ByStatus), maps.Clone(s.BySource)
	return c
}

// Hot returns the active memories that were ever accessed, by access count, largest first.
func (s *Service) Hot(space string) ([]*memory.Memory, error) {
	var check memory.Check
	space = checkSpace(&check, space)
	if err := check.Err(); err != nil {
		return nil, err
	}
	now := s.now()
	hot := slices.DeleteFunc(s.store.Space(space).Memories(), func(m *memory.Memory) bool {
		return !m.IsActive() || m.Expired(now) || m.AccessCount() == 0
	})
	slices.SortStableFunc(hot, func(a, b *memory.Memory) int {
		return cmp.Or(cmp.Compare(b.AccessCount(), a.AccessCount()), b.LastAccessed().Compare(a.LastAccessed()))
	})
	return hot, nil
}
