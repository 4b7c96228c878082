package search

import (
	"context"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// maxQueued bounds the records that wait to be indexed; beyond it a writer indexes before it goes on.
const maxQueued = 4096

// Apply queues the memory changes of one record; it implements store.Projection. A search that starts after Apply has
// returned sees the changed memories, because it indexes them first when RunIndexing has not. So a writer need not
// wait. Access counts become visible a moment later.
func (e *Engine) Apply(rec *journal.Record) {
	if !slices.ContainsFunc(rec.Changes, concernsIndex) {
		return
	}
	e.queueMu.Lock()
	e.queue = append(e.queue, rec)
	if slices.ContainsFunc(rec.Changes, changesMemory) {
		e.pendingChanges.Add(1)
	}
	full := len(e.queue) > maxQueued
	e.queueMu.Unlock()
	if full {
		e.drain()
		return
	}
	select {
	case e.wakeIndexer <- struct{}{}:
	default: // a wake-up is pending
	}
}

func changesMemory(c journal.Change) bool { return c.Memory != nil }

func concernsIndex(c journal.Change) bool { return c.Memory != nil || c.Access != nil }

// QueuedRecords counts the applied records that are not indexed. A search indexes them first.
func (e *Engine) QueuedRecords() int {
	e.queueMu.Lock()
	defer e.queueMu.Unlock()
	return len(e.queue)
}

// Accesses are indexed at a moment without searches, which is looked for every accessPoll, at most for accessPatience.
const (
	accessPatience = 2 * time.Second
	accessPoll     = 500 * time.Microsecond
)

// gatherChanges is how long RunIndexing waits before it indexes: behind a burst of writes it is woken once, and takes
// no processor from the next of them. A search indexes what waits, some records more then.
const gatherChanges = 5 * time.Millisecond

// RunIndexing indexes queued records in the background until ctx ends, which is no error.
func (e *Engine) RunIndexing(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.wakeIndexer:
			rest(ctx, gatherChanges)
			e.drainQuietly(ctx)
		}
	}
}

// drainQuietly indexes the queue. While only accesses are queued it waits for a moment at which no search has to wait.
func (e *Engine) drainQuietly(ctx context.Context) {
	if e.pendingChanges.Load() == 0 && !e.drainAccesses() {
		e.waitQuiet(ctx)
	}
	e.drain()
}

// waitQuiet returns once the accesses could be indexed, when a memory has changed, or when patience or ctx ends.
func (e *Engine) waitQuiet(ctx context.Context) {
	poll := time.NewTicker(accessPoll)
	defer poll.Stop()
	for range int(accessPatience / accessPoll) {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		if e.pendingChanges.Load() > 0 || e.drainAccesses() {
			return
		}
	}
}

// drainAccesses indexes records from the head of the queue until one changes a memory or a search is running. It
// reports whether no accesses are left at the head.
func (e *Engine) drainAccesses() (done bool) {
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
		if !e.tryApplyAccesses(rec) {
			return false
		}
		e.queueMu.Lock()
		e.queue[0], e.queue = nil, e.queue[1:] // only a holder of indexing removes records
		e.queueMu.Unlock()
	}
}

// tryApplyAccesses applies a record of accesses unless a search of its space is running.
func (e *Engine) tryApplyAccesses(rec *journal.Record) bool {
	s := e.space(rec.Space)
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index != nil {
		if !s.index.mu.TryLock() {
			return false
		}
		defer s.index.mu.Unlock()
	}
	if s.loads > 0 {
		s.pending = append(s.pending, rec)
	}
	if s.index == nil { // it will be loaded from what has the accesses
		return true
	}
	s.index.applyAccessesLocked(rec.Changes)
	return true
}

// drainChanges returns when every memory changed before the call is indexed. It does not wait for accesses: searches
// would wait for each other.
func (e *Engine) drainChanges() {
	if e.pendingChanges.Load() > 0 {
		e.drain()
	}
}

// drain returns when every record applied before the call is indexed.
func (e *Engine) drain() {
	e.indexing.Lock()
	defer e.indexing.Unlock()
	e.queueMu.Lock()
	recs := e.queue
	e.queue = nil
	e.queueMu.Unlock()
	for _, rec := range recs {
		e.indexRecord(rec)
		if slices.ContainsFunc(rec.Changes, changesMemory) {
			e.pendingChanges.Add(-1)
		}
	}
	if len(recs) > 0 {
		e.wakeEmbedding()
	}
}

// indexRecord applies the changes of one record to the index of its space, about 30 µs for each memory of 300
// characters.
func (e *Engine) indexRecord(rec *journal.Record) {
	if len(e.models) > 0 && slices.ContainsFunc(rec.Changes, changesMemory) {
		defer e.embedQueue.add(spaceName(rec.Space))
	}
	s := e.space(rec.Space)
	if s == nil { // it will be loaded from what has the changes
		return
	}
	a := e.analyzers.get()
	defer e.analyzers.put(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loads > 0 {
		s.pending = append(s.pending, rec)
	}
	if s.index == nil {
		return
	}
	for changes := rec.Changes; len(changes) > 0; {
		n := max(1, leadingAccesses(changes))
		s.index.applyChange(a, changes[:n])
		changes = changes[n:]
	}
}

// leadingAccesses counts the accesses that changes begin with.
func leadingAccesses(changes []journal.Change) (n int) {
	for n < len(changes) && changes[n].Access != nil {
		n++
	}
	return n
}
