package search

import (
	"context"
	"slices"
	"sync"
	"time"
)

// embedSpaces is how many spaces a batch takes texts from.
const embedSpaces = 8

// A space of which nobody knows whether it lacks vectors is opened to find out. That takes a fifth of the time at most.
const unseenRest = 4

// embedQueue names the spaces in which memories may wait for vectors. It is safe for concurrent use.
type embedQueue struct {
	mu      sync.Mutex
	changed []string        // oldest first; guarded by mu, as all below
	queued  map[string]bool // those in changed
	unseen  []string        // not looked at since the start; taken when nothing else waits
}

// add names a space, unless it is named.
func (q *embedQueue) add(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.queued[name] {
		if q.queued == nil {
			q.queued = map[string]bool{}
		}
		q.queued[name] = true
		q.changed = append(q.changed, name)
	}
}

// has reports whether a space waits to be looked at because it changed.
func (q *embedQueue) has(name string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.queued[name]
}

// prefer puts spaces that somebody waits for before the others.
func (q *embedQueue) prefer(names []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var first []string
	for _, name := range names {
		if name = spaceName(name); q.queued[name] && !slices.Contains(first, name) {
			first = append(first, name)
		}
	}
	rest := slices.DeleteFunc(q.changed, func(name string) bool { return slices.Contains(first, name) })
	q.changed = append(first, rest...)
}

// addUnseen names spaces that may lack vectors.
func (q *embedQueue) addUnseen(names []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unseen = names
}

// take returns the next spaces, and whether they are of the unseen: then it is one, and nothing else waits.
func (q *embedQueue) take() (names []string, unseen bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := min(len(q.changed), embedSpaces); n > 0 {
		names = slices.Clone(q.changed[:n])
		q.changed = slices.Delete(q.changed, 0, n)
		for _, name := range names {
			delete(q.queued, name)
		}
		return names, false
	}
	if len(q.unseen) == 0 {
		return nil, false
	}
	names, q.unseen = q.unseen[:1:1], q.unseen[1:]
	return names, true
}

// openToEmbed opens the next spaces with memories that may wait; none when there are none. The caller puts them back.
func (e *Engine) openToEmbed(ctx context.Context) (spaces []*space, err error) {
	names, unseen := e.embedQueue.take()
	began := e.now()
	for _, name := range names {
		s, err := e.acquireSlowly(ctx, name)
		if err != nil {
			e.embedQueue.add(name)
			return spaces, err
		}
		if s != nil {
			spaces = append(spaces, s)
		}
	}
	if unseen {
		rest(ctx, min(unseenRest*e.now().Sub(began), time.Second)) // the clock may be set meanwhile
	}
	return spaces, nil
}

// rest returns after a pause, or when ctx ends.
func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// putBack names the spaces again in which memories still wait, those first that came last, and lets all be closed.
func (e *Engine) putBack(spaces []*space) {
	for _, s := range slices.Backward(spaces) {
		if e.indexOf(s).waits() {
			e.embedQueue.add(s.name)
		}
		e.releaseUnused(s)
	}
}

// waits reports whether a document waits for a vector.
func (x *invertedIndex) waits() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.ContainsFunc(x.vectors, func(v *docVectors) bool { return len(v.waiting) > 0 })
}
