package memorysvc

import (
	"cmp"
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
)

// tallies keeps what was counted in each space, until something is written to it. Counting anew decodes the memories of
// all small spaces that nobody writes to, which takes seconds for a hundred thousand, and a list of them has hundreds of
// pages. They are given back when nobody counts for some minutes. The zero value is ready.
type tallies struct {
	mu     sync.Mutex
	spaces map[string]*tally // guarded by mu, as are all below
	kinds  map[kind]*kind    // those of spaces
	all    *Stats            // of all spaces; nil when nobody asked
	unused *time.Timer       // gives all back
}

// talliesUnused is for how long counts are kept that nobody asks for.
const talliesUnused = 5 * time.Minute

// kind is what memories are counted by.
type kind struct {
	status           memory.Status
	category, source string
}

// tally is what one space holds as of its record changed.
type tally struct {
	changed, revision int64
	active, total     int64
	accesses          int64   // of active memories, as is salience
	salience          float64 // their sum
	kinds             []ofKind
}

// ofKind is how many memories are of a kind.
type ofKind struct {
	kind *kind
	n    int64
}

// of returns the tally of a space, which must not be changed.
func (t *tallies) of(view *store.Space) *tally {
	_, rest, changed := view.Look(nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.spaces[view.Name()]
	if known != nil && known.changed == changed && known.revision == rest.Revision {
		return known
	}
	contents, changed := view.ContentsAt()
	known = t.countLocked(contents.Memories)
	known.changed, known.revision = changed, contents.Revision
	if changed > 0 { // else there is no such space, and anybody may ask for any name
		t.spaces[view.Name()] = known
	}
	return known
}

// countLocked counts memories. The caller holds t.mu.
func (t *tallies) countLocked(memories []*memory.Memory) *tally {
	if t.spaces == nil {
		t.spaces, t.kinds = map[string]*tally{}, map[kind]*kind{}
	}
	if t.unused == nil {
		t.unused = time.AfterFunc(talliesUnused, t.release)
	}
	out := &tally{total: int64(len(memories))}
	counted := map[kind]int64{}
	for _, m := range memories {
		counted[kind{cmp.Or(m.Status, memory.Active), m.Category, m.Source}]++
		if m.IsActive() {
			out.active++
			out.accesses += m.AccessCount()
			out.salience += m.Salience
		}
	}
	out.kinds = make([]ofKind, 0, len(counted))
	for k, n := range counted {
		if t.kinds[k] == nil {
			t.kinds[k] = &k
		}
		out.kinds = append(out.kinds, ofKind{t.kinds[k], n})
	}
	return out
}

// allAt returns the counts of all spaces when the newest record is still lsn, else nil: a list of them has many pages.
func (t *tallies) allAt(lsn int64) *Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil || t.all.LSN != lsn || t.unused == nil {
		return nil
	}
	t.unused.Reset(talliesUnused)
	return t.all
}

// keepAll keeps the counts of all spaces, and no longer those of spaces that were dropped.
func (t *tallies) keepAll(all Stats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unused == nil { // released meanwhile
		return
	}
	t.unused.Reset(talliesUnused)
	t.all = &all
	if len(t.spaces) <= len(all.Spaces) {
		return
	}
	there := make(map[string]*tally, len(all.Spaces))
	for _, space := range all.Spaces {
		if known := t.spaces[space.Name]; known != nil {
			there[space.Name] = known
		}
	}
	t.spaces = there
}

// release gives all back.
func (t *tallies) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unused != nil {
		t.unused.Stop()
	}
	t.spaces, t.kinds, t.all, t.unused = nil, nil, nil, nil
}
