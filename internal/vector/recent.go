package vector

import "sync"

// Recent keeps the directions of the newest texts, and forgets the one that was not used for the longest time. It is safe for concurrent use.
type Recent struct {
	limit int

	mu    sync.Mutex
	clock uint64          // grows with each use; guarded by mu
	kept  map[Key]*recent // guarded by mu
}

type recent struct {
	direction Direction
	used      uint64
}

// NewRecent returns one that keeps up to limit directions.
func NewRecent(limit int) *Recent { return &Recent{limit: limit, kept: map[Key]*recent{}} }

// Get returns the direction of a text, if it is kept.
func (r *Recent) Get(key Key) (d Direction, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.kept[key]
	if kept == nil {
		return Direction{}, false
	}
	r.clock++
	kept.used = r.clock
	return kept.direction, true
}

// Put keeps the direction of a text. Looking through all of them for the oldest costs less than making one.
func (r *Recent) Put(key Key, d Direction) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	if r.kept[key] == nil && len(r.kept) >= r.limit {
		var oldest Key
		least := r.clock
		for k, kept := range r.kept {
			if kept.used < least {
				oldest, least = k, kept.used
			}
		}
		delete(r.kept, oldest)
	}
	r.kept[key] = &recent{d, r.clock}
}

// Forget drops all of them.
func (r *Recent) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.kept)
}
