package recall

import (
	"cmp"
	"slices"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

const (
	// maxImportant is how many memories of a space are kept in order. A context shows at most a few hundred, so a larger
	// store costs a context no more than this.
	maxImportant = 1024
	// fewMemories is how many a space has whose order is made when it is first asked for, which takes 0.1 ms: there may
	// be a hundred thousand spaces, of which some hundred are used.
	fewMemories = 256
)

// importanceIndex keeps the most important active memories of spaces in order, so that a context does not sort the
// whole store: of those that were asked for, and of large ones from the start. It holds ids and sort keys, no text. The zero value is ready to use. It is safe for concurrent use.
type importanceIndex struct {
	mu     sync.Mutex
	spaces map[string]*importantMemories // guarded by mu
}

// importantMemories is the order of one space. The zero value is one that was not read yet.
type importantMemories struct {
	top      []importance // the most important ones, in order
	active   int          // active memories of the space
	complete bool         // top holds all of them
	version  int64        // changes applied so far
}

// importance is the sort key of a memory. It contains nothing that changes with use, so the order is stable.
type importance struct {
	pinned   int
	salience float64
	changed  int64 // nanoseconds since 1970
	id       string
}

// importanceOf is the sort key of a memory in a session's start context.
func importanceOf(m *memory.Memory) importance {
	return importance{pinned: pinned(m), salience: m.Salience, changed: m.KnownAt().UnixNano(), id: m.ID}
}

// compareImportance orders by pin, salience and last change, most important first.
func compareImportance(a, b importance) int {
	return cmp.Or(cmp.Compare(b.pinned, a.pinned), cmp.Compare(b.salience, a.salience),
		cmp.Compare(b.changed, a.changed), cmp.Compare(a.id, b.id))
}

// load replaces the order of a space by that of all its memories.
func (x *importanceIndex) load(space string, memories []*memory.Memory) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.spaceLocked(space).load(memories)
}

// apply brings the order forward by one changed memory. Of a space that nobody asked for it keeps nothing.
func (x *importanceIndex) apply(space string, c *journal.MemoryChange) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.spaces[space]
	if s == nil {
		return
	}
	s.version++
	switch {
	case c.Before != nil && c.Before.IsActive():
		s.remove(importanceOf(c.Before))
	case c.Before == nil && c.Purged:
		s.top, s.complete = nil, false // the sort key is erased with the text: read the space again
	}
	if c.After != nil && c.After.IsActive() {
		s.insert(importanceOf(c.After))
	}
}

// spaceLocked makes an entry for a space that has none.
func (x *importanceIndex) spaceLocked(space string) *importantMemories {
	if x.spaces == nil {
		x.spaces = map[string]*importantMemories{}
	}
	s := x.spaces[space]
	if s == nil {
		s = &importantMemories{}
		x.spaces[space] = s
	}
	return s
}

// top returns the ids of the most important memories of a space, and how many active ones it has.
func (x *importanceIndex) top(st *store.Store, space string) (ids []string, active int) {
	x.mu.Lock()
	s := x.spaceLocked(space)
	if s.complete || len(s.top) >= maxImportant/2 {
		defer x.mu.Unlock()
		return s.ids(), s.active
	}
	version := s.version
	x.mu.Unlock()
	// The store is read without x.mu, because it calls apply under its own lock. A change in between makes the result
	// obsolete for the next call.
	var read importantMemories
	read.load(st.Space(space).Memories())
	x.mu.Lock()
	defer x.mu.Unlock()
	if s.version == version {
		s.top, s.active, s.complete = read.top, read.active, read.complete
	}
	return read.ids(), read.active
}

// ids lists the memories in order.
func (s *importantMemories) ids() []string {
	ids := make([]string, len(s.top))
	for i := range s.top {
		ids[i] = s.top[i].id
	}
	return ids
}

// load sorts the keys of all active memories once, after a start.
func (s *importantMemories) load(memories []*memory.Memory) {
	keys := make([]importance, 0, len(memories))
	for _, m := range memories {
		if m.IsActive() {
			keys = append(keys, importanceOf(m))
		}
	}
	slices.SortFunc(keys, compareImportance)
	s.active, s.complete = len(keys), len(keys) <= maxImportant
	s.top = slices.Clone(keys[:min(len(keys), maxImportant)])
}

// remove leaves a list that is shorter than maxImportant and may be incomplete: the caller loads it again
// when too few are left for a context.
func (s *importantMemories) remove(key importance) {
	s.active--
	if i, ok := slices.BinarySearchFunc(s.top, key, compareImportance); ok {
		s.top = slices.Delete(s.top, i, i+1)
	}
}

// insert keeps the list sorted and bounded, in time that does not depend on how many memories the space has.
func (s *importantMemories) insert(key importance) {
	s.active++
	i, _ := slices.BinarySearchFunc(s.top, key, compareImportance)
	if i == len(s.top) && !s.complete {
		return // less important than all of top, as are others that top does not hold
	}
	s.top = slices.Insert(s.top, i, key)
	if len(s.top) > maxImportant {
		s.top, s.complete = s.top[:maxImportant], false
	}
}

// Index holds what recalls look up instead of reading the whole store. It is a store.Projection and safe for concurrent
// use. Load must be called once after the store is open.
type Index struct {
	tools      *toolIndex
	importance *importanceIndex
}

// NewIndex returns an empty Index.
func NewIndex() *Index { return &Index{tools: newToolIndex(), importance: &importanceIndex{}} }

// Load reads the large spaces of st. Later changes come through Apply, and small spaces are read when they are used.
func (x *Index) Load(st *store.Store) {
	for _, space := range st.Spaces() {
		if v := st.Space(space); v.Count() > fewMemories {
			x.tools.read(st, space)
			x.importance.load(space, v.Memories())
		}
	}
}

// Apply brings the index forward by one record. It implements store.Projection.
func (x *Index) Apply(rec *journal.Record) {
	for i := range rec.Changes {
		if c := rec.Changes[i].Memory; c != nil {
			x.tools.apply(rec.Space, c)
			x.importance.apply(rec.Space, c)
		}
	}
}
