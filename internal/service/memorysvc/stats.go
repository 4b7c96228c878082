package memorysvc

import (
	"cmp"
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
	if len(spaces) == 0 {
		spaces = s.store.Spaces()
	}
	out := Stats{ByCategory: map[string]int64{}, ByStatus: map[memory.Status]int64{}, BySource: map[string]int64{},
		LSN: s.store.LSN()}
	salience, active := 0.0, int64(0)
	// A space that is named twice is counted once.
	for _, name := range slices.Compact(slices.Sorted(slices.Values(spaces))) {
		view := s.store.Space(cmp.Or(name, memory.DefaultSpace))
		one := SpaceStats{Name: view.Name(), Revision: view.Revision()}
		for _, m := range view.Memories() {
			one.Total++
			out.ByStatus[cmp.Or(m.Status, memory.Active)]++
			if !m.IsActive() {
				continue
			}
			one.Active++
			out.ByCategory[m.Category]++
			out.BySource[m.Source]++
			out.Accesses += m.AccessCount
			salience += m.Salience
		}
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
	return out, nil
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
		return !m.IsActive() || m.Expired(now) || m.AccessCount == 0
	})
	slices.SortStableFunc(hot, func(a, b *memory.Memory) int {
		return cmp.Or(cmp.Compare(b.AccessCount, a.AccessCount), b.LastAccessed.Compare(a.LastAccessed))
	})
	return hot, nil
}
