package store

import "slices"

// CompressJournal compresses one old segment, as maintenance does.
func (s *Store) CompressJournal() (bool, error) { return s.compressJournal() }

// SetStopBytes changes how many bytes a stop writes into a snapshot.
func (s *Store) SetStopBytes(n int64) { s.stopBytes = n }

// ColdSpaces names the cold spaces, sorted.
func (s *Store) ColdSpaces() (names []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for name, sp := range s.visible.spaces {
		if sp.cold != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ColdLines are the lines of all packs that cold spaces are in.
func (s *Store) ColdLines() (lines []byte) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, sp := range s.visible.spaces {
		if sp.cold != nil {
			p := sp.cold.pack
			all, err := p.places.Read(p.from, 0, p.places.Size())
			if err != nil {
				panic(err)
			}
			lines = append(lines, all...)
		}
	}
	return lines
}
