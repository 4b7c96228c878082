package search

import (
	"context"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/journal"
)

// maxQueued bounds the records that wait to be indexed; beyond it a writer indexes before it goes on.
const maxQueued = 4096

// Apply takes the changes of memories of one record; it implements store.Projection. A search that starts after Apply has
// returned sees the memories that changed: it indexes first what Run has not got to yet. So a writer need not wait for that. Accesses are seen a
// moment later, once Run has got to them.
func (e *Engine) Apply(rec *journal.Record) {
	if !slices.ContainsFunc(rec.Changes, concernsSearch) {
		return
	}
	e.queueMu.Lock()
	e.queue = append(e.queue, rec)
	if slices.ContainsFunc(rec.Changes, changesMemory) {
		e.behind.Add(1)
	}
	full := len(e.queue) > maxQueued
	e.queueMu.Unlock()
	if full {
		e.drain()
		return
	}
	select {
	case e.queued <- struct{}{}:
	default: // Run knows already
	}
}

func changesMemory(c journal.Change) bool { return c.Memory != nil }

func concernsSearch(c journal.Change) bool { return c.Memory != nil || c.Touch != nil }

// Queued counts the records that are applied and not indexed. A search indexes them first.
func (e *Engine) Queued() int {
	e.queueMu.Lock()
	defer e.queueMu.Unlock()
	return len(e.queue)
}

// Accesses wait for a moment in which nobody searches, for that long at most, and it is looked for so often.
const (
	accessPatience = 2 * time.Second
	accessPause    = 500 * time.Microsecond
)

// Run indexes what Apply takes, in the background, until ctx ends, which is no error.
func (e *Engine) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.queued:
			e.settle(ctx)
		}
	}
}

// settle indexes what is queued, accesses without making any search wait while that is possible.
func (e *Engine) settle(ctx context.Context) {
	if e.behind.Load() == 0 && !e.takeAccesses() {
		e.awaitQuiet(ctx)
	}
	e.drain()
}

// awaitQuiet returns once accesses could be taken up, when a memory has changed, or patience or ctx ends.
func (e *Engine) awaitQuiet(ctx context.Context) {
	pause := time.NewTicker(accessPause)
	defer pause.Stop()
	for range int(accessPatience / accessPause) {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if e.behind.Load() > 0 || e.takeAccesses() {
			return
		}
	}
}

// takeAccesses indexes records from the head of the queue, until one changes a memory, or a search is under way. It reports whether the first is
// the case, or the queue is empty.
func (e *Engine) takeAccesses() (done bool) {
	e.indexing.Lock()
	defer e.indexing.Unlock()
	for {
		e.queueMu.Lock()
		if len(e.queue) == 0 || slices.ContainsFunc(e.queue[0].Changes, changesMemory) {
			e.queueMu.Unlock()
			return true
		}
		rec := e.queue[0]
		e.queueMu.Unlock()
		if !e.tryAccesses(rec) {
			return false
		}
		e.queueMu.Lock()
		e.queue[0], e.queue = nil, e.queue[1:] // only holders of indexing take anything out
		e.queueMu.Unlock()
	}
}

// tryAccesses indexes a record of accesses, unless a search is under way in its space.
func (e *Engine) tryAccesses(rec *journal.Record) bool {
	s := e.space(rec.Space)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.index.mu.TryLock() {
		return false
	}
	defer s.index.mu.Unlock()
	if s.loads > 0 {
		s.pending = append(s.pending, rec)
	}
	if e.loose(s.index) {
		e.ageLocked(s.index)
	}
	s.index.touchLocked(rec.Changes)
	return true
}

// catchUp returns when every memory changed before it was called is indexed. Accesses may come later: searches would wait for each other.
func (e *Engine) catchUp() {
	if e.behind.Load() > 0 {
		e.drain()
	}
}

// drain returns when everything applied before it was called is indexed.
func (e *Engine) drain() {
	e.indexing.Lock()
	defer e.indexing.Unlock()
	e.queueMu.Lock()
	recs := e.queue
	e.queue = nil
	e.queueMu.Unlock()
	for _, rec := range recs {
		e.index(rec)
		if slices.ContainsFunc(rec.Changes, changesMemory) {
			e.behind.Add(-1)
		}
	}
	if len(recs) > 0 {
		e.needsEmbedding()
	}
}

// index puts the changes of one record into the index of its space, some 30 µs for each memory of 300 characters.
func (e *Engine) index(rec *journal.Record) {
	s := e.space(rec.Space)
	a := e.analyzers.get()
	defer e.analyzers.put(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loads > 0 {
		s.pending = append(s.pending, rec)
	}
	e.age(s.index)
	for changes := rec.Changes; len(changes) > 0; {
		n := max(1, accesses(changes))
		s.index.apply(a, changes[:n])
		changes = changes[n:]
	}
}

// age makes bounds of an index anew that became loose, two milliseconds for 100,000 memories. The caller holds space.mu.
func (e *Engine) age(x *index) {
	if e.loose(x) {
		x.mu.Lock()
		defer x.mu.Unlock()
		e.ageLocked(x)
	}
}

func (e *Engine) loose(x *index) bool {
	_, slope := x.lengthNorms()
	return x.yields.aged(minutes(e.now()), slope)
}

func (e *Engine) ageLocked(x *index) {
	_, slope := x.lengthNorms()
	x.yields.age(x.facts, minutes(e.now()), slope, e.fading)
	x.raise()
}

// accesses counts those that changes begin with.
func accesses(changes []journal.Change) (n int) {
	for n < len(changes) && changes[n].Touch != nil {
		n++
	}
	return n
}
