package session

import (
	"sync"
)

// processExit waits for the end of a process. Close makes Wait return an error.
type processExit interface {
	Wait() error
	Close() error
}

// hostWatcher waits for the end of host processes. Where the operating system has no such notification, Run polls
// instead.
type hostWatcher struct {
	open  func(pid int) (processExit, error) // nil if the system has no notification
	ended func()                             // called when a process ended, or waiting failed

	mu          sync.Mutex
	watched     map[int]processExit // guarded by mu
	unsupported bool                // waiting failed, so only polling is left; guarded by mu
	waiting     sync.WaitGroup
}

// watch starts to wait for a process, unless it does already. It returns false if the process must be polled.
func (h *hostWatcher) watch(pid int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil || h.unsupported {
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
		h.watched = map[int]processExit{}
	}
	h.watched[pid] = one
	h.waiting.Go(func() {
		err := one.Wait()
		h.mu.Lock()
		mine := h.watched[pid] == one
		if mine {
			delete(h.watched, pid)
			h.unsupported = h.unsupported || err != nil
			_ = one.Close() // nothing was written to the descriptor
		}
		h.mu.Unlock()
		if mine {
			h.ended()
		}
	})
	return true
}

// retain stops watching processes that are not in wanted.
func (h *hostWatcher) retain(wanted map[int]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for pid, one := range h.watched {
		if !wanted[pid] {
			delete(h.watched, pid)
			_ = one.Close()
		}
	}
}

// close stops all watches and waits for their goroutines.
func (h *hostWatcher) close() {
	h.retain(nil)
	h.waiting.Wait()
}
