package store

import "maps"

// stageWhenUsed is how many memories a space has at most of which the staged state is made by its first transaction,
// within a millisecond. That of a larger one is made by Open.
const stageWhenUsed = 500

// stagedSpace returns the staged state of a space. An unknown one is empty and not yet part of the state. While the
// staged state has no space of that name, nothing of it is staged that is not durable, so it equals the visible one.
// The caller holds stageMu. Error: *journal.CorruptError, when the memories of a cold space cannot be read.
func (s *Store) stagedSpace(name string) (*spaceState, error) {
	if sp, ok := s.staged.spaces[name]; ok {
		return sp, nil
	}
	if err := s.warm(name); err != nil {
		return nil, err
	}
	s.mu.RLock()
	v := s.visible.spaces[name]
	if v == nil {
		s.mu.RUnlock()
		return s.staged.newSpace(name), nil
	}
	sp := s.staged.copyOf(v)
	s.mu.RUnlock()
	for slot := range sp.slots { // outside the lock, which readers wait for
		sp.indexEqual(int32(slot))
	}
	s.staged.spaces[name] = sp
	return sp, nil
}

// copyOf copies a warm visible space for transactions: what changes of it, without bodies. The values are shared.
func (st *state) copyOf(v *spaceState) *spaceState {
	sp := st.newSpace(v.name)
	sp.slots, sp.holes = withRoom(v.slots), v.holes
	if v.byID != nil {
		sp.byID = v.byID.Clone()
	}
	sp.removed, sp.forgotten = maps.Clone(v.removed), maps.Clone(v.forgotten)
	sp.archive, sp.receipts = maps.Clone(v.archive), maps.Clone(v.receipts)
	for date, d := range v.days {
		put(&sp.days, date, &day{header: d.header})
	}
	for id, se := range v.sessions {
		put(&sp.sessions, id, &session{header: se.header})
	}
	sp.summary, sp.revision, sp.changed, sp.archiveRevision = v.summary, v.revision, v.changed, v.archiveRevision
	return sp
}

// stageLarge makes the staged state of large spaces, before anybody waits for it.
func (s *Store) stageLarge() error {
	for name, sp := range s.visible.spaces {
		if len(sp.slots) > stageWhenUsed {
			if _, err := s.stagedSpace(name); err != nil {
				return err
			}
		}
	}
	return nil
}
