package session

import (
	"container/list"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// maxWorks is how many working memories are kept at hand; the one not asked for longest goes first and is read again when needed.
const maxWorks = 256

// works keeps working memories at hand, so that a recall need not read a session's messages. It is a cache: what it holds is compared with
// the session's header, and what does not belong to it is not used. The zero value is ready to use.
type works struct {
	mu    sync.Mutex
	known map[key]*list.Element // of *cachedWork; guarded by mu
	order list.List             // the newest first; guarded by mu
}

type cachedWork struct {
	key  key
	work *work
	made *memory.Working // of work; nil when that has changed since
}

// get returns the working memory that belongs to a header.
func (w *works) get(k key, header *memory.Session) (*memory.Working, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.known[k]
	if e == nil {
		return nil, false
	}
	one := e.Value.(*cachedWork)
	if !sameWork(one.work.header, header) {
		return nil, false
	}
	w.order.MoveToFront(e)
	if one.made == nil || one.work.header != header {
		one.work.header = header
		one.made = one.work.working()
	}
	return one.made, true
}

// sameWork reports whether nothing was added between two states of a session.
func sameWork(a, b *memory.Session) bool {
	return a.StartedAt.Equal(b.StartedAt) && a.NextSeq == b.NextSeq && a.Notes == b.Notes && a.Summaries == b.Summaries
}

// put keeps what was read, and returns it.
func (w *works) put(k key, one *work) *memory.Working {
	w.mu.Lock()
	defer w.mu.Unlock()
	made := one.working()
	if e := w.known[k]; e != nil {
		e.Value = &cachedWork{k, one, made}
		w.order.MoveToFront(e)
		return made
	}
	if w.known == nil {
		w.known = map[key]*list.Element{}
	}
	if w.order.Len() >= maxWorks {
		delete(w.known, w.order.Remove(w.order.Back()).(*cachedWork).key)
	}
	w.known[k] = w.order.PushFront(&cachedWork{k, one, made})
	return made
}

// follow adds what has just been made durable, and nothing else has since: header is the session's behind it. Whatever does not join
// is dropped, to be read again.
func (w *works) follow(k key, header *memory.Session, added []*memory.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.known[k]
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
	one := e.Value.(*cachedWork)
	if !sameWork(one.work.header, &before) {
		w.order.Remove(e)
		delete(w.known, k)
		return
	}
	for _, m := range added {
		one.work.add(header.Cwd, m)
	}
	one.work.header, one.made = header, nil
}

func (w *works) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known = nil
	w.order.Init()
}
