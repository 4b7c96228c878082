package store

import (
	"maps"
	"slices"
)

// ReadView is the durable state at one LSN, as a database's read view is. Writes continue; the files that the view
// needs are not deleted until Close. It is safe for concurrent use.
type ReadView struct {
	LSN           int64
	Origin, Epoch string

	frozen  *Store // a Store of which only the methods that read are used
	release func()
}

// OpenReadView returns a view of the present state. The caller closes it soon, because old files cannot be deleted
// before.
func (s *Store) OpenReadView() *ReadView {
	s.filesMu.RLock()
	frozen, lsn := s.freeze()
	return &ReadView{LSN: lsn, Origin: s.Origin(), Epoch: s.Epoch(), frozen: frozen, release: s.filesMu.RUnlock}
}

// Close allows the files to be deleted. It must be called exactly once.
func (v *ReadView) Close() { v.release() }

// Spaces lists the names of all spaces, sorted.
func (v *ReadView) Spaces() []string { return v.frozen.Spaces() }

// Space returns a reader of one space at the view's LSN. An unknown space reads as empty.
func (v *ReadView) Space(name string) *Space { return v.frozen.Space(name) }

// Digest is Store.Digest at the view's LSN.
func (v *ReadView) Digest() (string, error) { return v.frozen.Digest() }

// freeze copies the mutable parts of the visible state: maps and slices, not the values in them, which never change.
func (s *Store) freeze() (frozen *Store, lsn int64) {
	st := &state{spaces: map[string]*spaceState{}, bodies: true}
	s.mu.RLock()
	lsn = s.visible.newest()
	for name, sp := range s.visible.spaces {
		c := *sp
		c.slots, c.byID = slices.Clone(sp.slots), nil
		c.forgotten, c.removed, c.receipts, c.archive = maps.Clone(sp.forgotten), nil, nil, maps.Clone(sp.archive)
		c.days, c.sessions = nil, nil
		for date, d := range sp.days {
			put(&c.days, date, &day{header: d.header, body: d.body.frozen()})
		}
		for id, se := range sp.sessions {
			put(&c.sessions, id, &session{header: se.header, body: se.body.frozen()})
		}
		st.spaces[name] = &c
	}
	s.mu.RUnlock()
	for _, sp := range st.spaces { // outside the lock, which blocks every write
		sp.indexIDs()
	}
	return &Store{fs: s.fs, visible: st}, lsn
}

// frozen returns the body as it is now: later appends do not show in it.
func (d body) frozen() body {
	d.tail = d.tail[:len(d.tail):len(d.tail)]
	return d
}
