package store

import (
	"maps"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Space reads one space. All methods see only what is durable, and are safe for concurrent use.
type Space struct {
	store *Store
	name  string
}

// Name of the space.
func (v *Space) Name() string { return v.name }

// read runs f on the durable state of the space under the reader's lock.
func (v *Space) read(f func(*spaceState)) {
	v.store.mu.RLock()
	defer v.store.mu.RUnlock()
	if sp, ok := v.store.visible.spaces[v.name]; ok {
		f(sp)
	}
}

// readMemories is read for an f that looks at memories: those of a cold space are decoded before, outside the lock.
func (v *Space) readMemories(f func(*spaceState)) {
	var known decodedMemories
	var failed *coldMemories
	for {
		var cold *coldMemories
		v.read(func(sp *spaceState) {
			if sp.cold == known.of {
				f(sp.filled(known.memories))
			} else if cold = sp.cold; cold == nil { // it became warm meanwhile
				f(sp)
			}
		})
		if cold == nil {
			return
		}
		memories, err := v.store.recent.memories(cold)
		switch {
		case err == nil:
			known = decodedMemories{cold, memories}
		case cold == failed:
			lost(err)
		}
		failed = cold // a snapshot may have moved the space meanwhile, and closed the pack
	}
}

// Get returns a memory in any status. Error: memory.ErrNotFound (*memory.NotFoundError), also for one that was removed.
func (v *Space) Get(id string) (m *memory.Memory, err error) {
	v.readMemories(func(sp *spaceState) { m = sp.memory(id) })
	if m == nil {
		return nil, &memory.NotFoundError{Kind: "memory", Name: id}
	}
	return m, nil
}

// Memories returns all memories in any status, in order of creation. The slice belongs to the caller; the memories are
// shared and must not be changed.
func (v *Space) Memories() (out []*memory.Memory) {
	v.readMemories(func(sp *spaceState) { out = sp.memories() })
	return out
}

// Count of memories in any state.
func (v *Space) Count() (n int) {
	v.read(func(sp *spaceState) { n = sp.count() })
	return n
}

// Expiring reports whether a memory in any state has a time at which it expires. Unlike Memories it is cheap for each
// of many small spaces that nobody uses.
func (v *Space) Expiring() (some bool) {
	v.read(func(sp *spaceState) { some = sp.expiring() })
	return some
}

// Summary is the rolling summary.
func (v *Space) Summary() (text string) {
	v.read(func(sp *spaceState) { text = sp.summary })
	return text
}

// Forgotten maps the hashes of forgotten values to the time of forgetting. The map belongs to the caller.
func (v *Space) Forgotten() (out map[string]time.Time) {
	v.read(func(sp *spaceState) { out = maps.Clone(sp.forgotten) })
	return out
}

// Contents is what a space holds at one revision, except daily logs and sessions. Slice and map belong to the caller;
// the memories are shared.
type Contents struct {
	Revision  int64 // see Space.Revision
	Summary   string
	Memories  []*memory.Memory     // in any state, in order of creation in the store
	Forgotten map[string]time.Time // hashes of forgotten values, to when
}

// Contents returns all of it as of one LSN.
func (v *Space) Contents() (c Contents) {
	v.readMemories(func(sp *spaceState) { c = Contents{sp.revision, sp.summary, sp.memories(), maps.Clone(sp.forgotten)} })
	return c
}

// Look returns some memories in any status, nil for those that do not exist, and changed, the LSN of the newest record
// of the space. Everything is as of changed. The memories are shared.
func (v *Space) Look(ids []string) (memories []*memory.Memory, rest Contents, changed int64) {
	memories = make([]*memory.Memory, len(ids))
	read := v.readMemories
	if len(ids) == 0 { // nothing need be decoded
		read = v.read
	}
	read(func(sp *spaceState) {
		for i, id := range ids {
			memories[i] = sp.memory(id)
		}
		rest, changed = Contents{sp.revision, sp.summary, nil, maps.Clone(sp.forgotten)}, sp.changed
	})
	return memories, rest, changed
}

// ContentsAt is Contents with the LSN of the newest record of the space.
func (v *Space) ContentsAt() (c Contents, changed int64) {
	v.readMemories(func(sp *spaceState) {
		c, changed = Contents{sp.revision, sp.summary, sp.memories(), maps.Clone(sp.forgotten)}, sp.changed
	})
	return c, changed
}

// Days lists the daily logs, oldest first.
func (v *Space) Days() (out []*memory.Day) {
	v.read(func(sp *spaceState) { out = sp.dayHeaders() })
	return out
}

// Log returns one day with its entries in order of time. It may read a file. Error: memory.ErrNotFound.
func (v *Space) Log(date string) (*memory.Day, []*memory.Entry, error) {
	var header *memory.Day
	entries, err := readBody(v, func(sp *spaceState) *body {
		header = nil
		d := sp.days[date]
		if d == nil {
			return nil
		}
		header = d.header
		return &d.body
	}, entriesOf(v.name, date))
	switch {
	case header == nil:
		return nil, nil, &memory.NotFoundError{Kind: "log", Name: date}
	case err != nil:
		return nil, nil, err
	}
	return header, entries, nil
}

// Sessions lists the session headers, oldest first.
func (v *Space) Sessions() (out []*memory.Session) {
	v.read(func(sp *spaceState) { out = sp.sessionHeaders() })
	return out
}

// Session returns one header. Error: memory.ErrNotFound.
func (v *Space) Session(id string) (header *memory.Session, err error) {
	v.read(func(sp *spaceState) {
		if s := sp.sessions[id]; s != nil {
			header = s.header
		}
	})
	if header == nil {
		return nil, &memory.NotFoundError{Kind: "session", Name: id}
	}
	return header, nil
}

// Messages returns the messages of a session whose sequence number is from or more. It may read a file. The session's
// context (see memory.RoleContext) has number 0 and is included when from is 0. Error: memory.ErrNotFound.
func (v *Space) Messages(id string, from int64) ([]*memory.Message, error) {
	known := false
	all, err := readBody(v, func(sp *spaceState) *body {
		s := sp.sessions[id]
		if known = s != nil; !known {
			return nil
		}
		return &s.body
	}, messagesOf(v.name, id))
	switch {
	case !known:
		return nil, &memory.NotFoundError{Kind: "session", Name: id}
	case err != nil:
		return nil, err
	}
	if all = slices.DeleteFunc(all, func(m *memory.Message) bool { return m.Seq < from }); len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// Revision is the LSN of the newest operation that changed a memory, the summary or a forgotten value of the space.
func (v *Space) Revision() (lsn int64) {
	v.read(func(sp *spaceState) { lsn = sp.revision })
	return lsn
}
