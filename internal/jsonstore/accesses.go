package jsonstore

import (
	"sync"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// rewriteFrom is the size in bytes of a memory.json from which a change in its middle is worth avoiding.
const rewriteFrom = 64 << 10

// accesses is how often a memory was recalled, and when it was last.
type accesses struct {
	count int64
	last  time.Time
}

// heldAccesses are the accesses that memory.json goes on showing while newer ones wait. They stand in the middle of the
// file, and a number or time of another length moves everything behind it: with a search in between, each publication
// would write the whole file. So they are published all at once, now and then. It is safe for concurrent use; the zero
// value is ready.
type heldAccesses struct {
	mu     sync.Mutex
	spaces map[string]map[string]accesses // by space and id; guarded by mu
}

// hold keeps the accesses of a memory as they were before a change, unless older ones are kept already.
func (h *heldAccesses) hold(space string, c *journal.AccessChange) {
	if c.Before == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.spaceLocked(space)
	if _, older := held[c.ID]; !older {
		held[c.ID] = accesses{c.Before.AccessCount(), c.Before.LastAccessed()}
	}
}

// holdShown keeps the accesses that the published file shows of memories that have more, unless older ones are kept
// already: fewer are a correction. A crash forgets what was held, and the next publication would write the whole file.
func (h *heldAccesses) holdShown(space string, shown map[string]accesses) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.spaceLocked(space)
	for id, a := range shown {
		if _, older := held[id]; !older {
			held[id] = a
		}
	}
}

// spaceLocked returns what is held of a space. h.mu must be held.
func (h *heldAccesses) spaceLocked(space string) map[string]accesses {
	if h.spaces == nil {
		h.spaces = map[string]map[string]accesses{}
	}
	if h.spaces[space] == nil {
		h.spaces[space] = map[string]accesses{}
	}
	return h.spaces[space]
}

// release shows the present accesses of a memory again: it changed, so its place in the file is written anyway.
func (h *heldAccesses) release(space, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.spaces[space], id)
}

// releaseAll shows the present accesses of a space again.
func (h *heldAccesses) releaseAll(space string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.spaces, space)
}

// apply replaces the memories whose accesses are held by copies that show those, and reports whether there are any.
func (h *heldAccesses) apply(space string, memories []*memory.Memory) (any bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.spaces[space]
	if len(held) == 0 {
		return false
	}
	for i, m := range memories {
		if a, ok := held[m.ID]; ok {
			shown := *m
			shown.SetAccesses(a.count, a.last)
			memories[i], any = &shown, true
		}
	}
	return any
}
