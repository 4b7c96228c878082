package session

import (
	"sync"
)

// exit is a process that can be waited for. Close ends Wait with an error.
type exit interface {
	Wait() error
	Close() error
}

// hosts waits for the processes of hosts to end. Where the system cannot tell, they are looked at again and again instead.
type hosts struct {
	open  func(pid int) (exit, error) // nil where the system cannot tell
	ended func()                      // called when one has ended, or when waiting turned out to be impossible

	mu      sync.Mutex
	watched map[int]exit // guarded by mu
	unable  bool         // waiting failed, so it is not tried again; guarded by mu
	waiting sync.WaitGroup
}

// watch makes sure that the end of a process is noticed, and reports whether it will be.
func (h *hosts) watch(pid int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil || h.unable {
		return false
	}
	if h.watched[pid] != nil {
		return true
	}
	one, err := h.open(pid)
	if err != nil {
		return false
	}
	if h.watched == nil {
		h.watched = map[int]exit{}
	}
	h.watched[pid] = one
	h.waiting.Go(func() {
		err := one.Wait()
		h.mu.Lock()
		mine := h.watched[pid] == one
		if mine {
			delete(h.watched, pid)
			h.unable = h.unable || err != nil
			_ = one.Close() // of a descriptor that was only waited on
		}
		h.mu.Unlock()
		if mine {
			h.ended()
		}
	})
	return true
}

// keep ends the watch of every process that is not wanted any more.
func (h *hosts) keep(wanted map[int]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for pid, one := range h.watched {
		if !wanted[pid] {
			delete(h.watched, pid)
			_ = one.Close()
		}
	}
}

// close ends all watches.
func (h *hosts) close() {
	h.keep(nil)
	h.waiting.Wait()
}
