package recall

import (
	"container/list"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	maxSessions = 1024 // that are remembered; the one not heard of for longest is forgotten first
	maxSeen     = 2048 // memories remembered of one
)

// shown remembers what each session was shown. It is in memory only: a session that outlives the daemon may be shown something
// once more, which costs less than a write for each prompt would. The zero value is ready to use.
type shown struct {
	mu       sync.Mutex
	sessions map[string]*list.Element // of *seen; guarded by mu
	order    list.List                // the newest first; guarded by mu
}

// seen is what one session was shown.
type seen struct {
	session string

	mu        sync.Mutex // held for a whole recall: two of one session come one after the other
	revisions map[[2]string]int64
	counts    map[[2]string]bool // memories whose access was counted
	compacts  int                // how often the context had been compacted when that was shown
	reminded  int                // the same when the session's own summary was shown last
	asking    bool               // a model is being asked what to show
	selected  [][2]string        // what it chose last, to be shown when there is room
}

// of returns what a session was shown. Without a session it is empty and kept by nobody.
func (s *shown) of(session string) *seen {
	if session == "" {
		return &seen{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.sessions[session]; ok {
		s.order.MoveToFront(e)
		return e.Value.(*seen)
	}
	if s.sessions == nil {
		s.sessions = map[string]*list.Element{}
	}
	if s.order.Len() >= maxSessions {
		oldest := s.order.Back()
		delete(s.sessions, s.order.Remove(oldest).(*seen).session)
	}
	one := &seen{session: session}
	s.sessions[session] = s.order.PushFront(one)
	return one
}

// has reports whether m was shown as it is now.
func (s *seen) has(space string, m *memory.Memory) bool {
	revision, ok := s.revisions[[2]string{space, m.ID}]
	return ok && revision == m.Revision
}

// counted reports whether an access of the memory was counted.
func (s *seen) counted(space, id string) bool { return s.counts[[2]string{space, id}] }

// compacted is told how often the context of the session's agent was compacted. After each time the agent knows no more what it was shown.
func (s *seen) compacted(times int) {
	if times != s.compacts {
		s.compacts, s.revisions = times, nil
	}
}

func (s *seen) add(space string, m *memory.Memory) {
	if s.revisions == nil || len(s.revisions) >= maxSeen {
		s.revisions = map[[2]string]int64{}
	}
	if s.counts == nil || len(s.counts) >= maxSeen {
		s.counts = map[[2]string]bool{}
	}
	s.revisions[[2]string{space, m.ID}], s.counts[[2]string{space, m.ID}] = m.Revision, true
}
