package session

import (
	"container/list"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// maxCached is the capacity of a workingCache. The least recently used entry is evicted first.
const maxCached = 256

// workingCache is an LRU cache of working memories, so that a recall need not read a session's messages. Entries are
// validated against the session's header, so a stale entry is never used. The zero value is ready to use. It is safe
// for concurrent use.
type workingCache struct {
	mu      sync.Mutex
	entries map[key]*list.Element // of *cacheEntry; guarded by mu
	order   list.List             // most recently used first; guarded by mu
}

// cacheEntry is one cached working memory.
type cacheEntry struct {
	key     key
	builder *workingBuilder
	working *memory.Working // result of builder; nil if the builder changed since
}

// get returns the cached working memory if it belongs to the header.
func (w *workingCache) get(k key, header *memory.Session) (*memory.Working, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entries[k]
	if e == nil {
		return nil, false
	}
	one := e.Value.(*cacheEntry)
	if !sameContent(one.builder.header, header) {
		return nil, false
	}
	w.order.MoveToFront(e)
	if one.working == nil || one.builder.header != header {
		one.builder.header = header
		one.working = one.builder.build()
	}
	return one.working, true
}

// sameContent reports whether nothing was added between two headers of a session.
func sameContent(a, b *memory.Session) bool {
	return a.StartedAt.Equal(b.StartedAt) && a.NextSeq == b.NextSeq && a.Notes == b.Notes && a.Summaries == b.Summaries
}

// put caches a builder and returns its result.
func (w *workingCache) put(k key, one *workingBuilder) *memory.Working {
	w.mu.Lock()
	defer w.mu.Unlock()
	made := one.build()
	if e := w.entries[k]; e != nil {
		e.Value = &cacheEntry{k, one, made}
		w.order.MoveToFront(e)
		return made
	}
	if w.entries == nil {
		w.entries = map[key]*list.Element{}
	}
	if w.order.Len() >= maxCached {
		delete(w.entries, w.order.Remove(w.order.Back()).(*cacheEntry).key)
	}
	w.entries[k] = w.order.PushFront(&cacheEntry{k, one, made})
	return made
}

// extend adds messages that were just stored to a cached entry; header is the session's header after them. An entry
// with a gap is dropped and read again later.
func (w *workingCache) extend(k key, header *memory.Session, added []*memory.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entries[k]
	if e == nil {
		return
	}
	before := *header
	for _, m := range added {
		switch {
		case m.Seq > 0:
			before.NextSeq--
		case m.Role == memory.RoleSummary:
			before.Summaries--
		default:
			before.Notes--
		}
	}
	one := e.Value.(*cacheEntry)
	// The entry is not the state right before these messages, so another call came in between.
	if !sameContent(one.builder.header, &before) {
		w.order.Remove(e)
		delete(w.entries, k)
		return
	}
	for _, m := range added {
		one.builder.add(header.Cwd, m)
	}
	one.builder.header, one.working = header, nil
}

// clear removes all entries.
func (w *workingCache) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = nil
	w.order.Init()
}
