package recall

import (
	"container/list"
	"sync"

	"github.com/memsidecar/memsidecar/internal/memory"
)

const (
	maxSessions = 1024 // tracked sessions; the least recently used is dropped first
	maxSeen     = 2048 // tracked memories per session; beyond that tracking starts over
)

// seenSessions tracks what each session has seen, in RAM only: after a restart of the daemon a session may see a
// memory once more, which costs less than a write per prompt. It is a least-recently-used cache. The zero value is
// ready to use.
type seenSessions struct {
	mu       sync.Mutex
	sessions map[string]*list.Element // of *seen; guarded by mu
	order    list.List                // most recently used first; guarded by mu
}

// sessionSeen is what one session has seen.
type sessionSeen struct {
	session string

	mu           sync.Mutex // held for a whole recall, so that recalls of one session are serial
	revisions    map[[2]string]int64
	accesses     map[[2]string]bool // memories whose access has been counted
	compactions  int                // compactions of the context when revisions was recorded
	stateShownAt int                // compactions when the session's state was last shown
	modelPending bool               // a model call for this session is queued or running
	selected     [][2]string        // what the model selected last, not yet shown
}

// forSession returns the record of a session, a new one if there is none. Without a session the record is not stored.
func (s *seenSessions) forSession(session string) *sessionSeen {
	if session == "" {
		return &sessionSeen{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.sessions[session]; ok {
		s.order.MoveToFront(e)
		return e.Value.(*sessionSeen)
	}
	if s.sessions == nil {
		s.sessions = map[string]*list.Element{}
	}
	if s.order.Len() >= maxSessions {
		oldest := s.order.Back()
		delete(s.sessions, s.order.Remove(oldest).(*sessionSeen).session)
	}
	one := &sessionSeen{session: session}
	s.sessions[session] = s.order.PushFront(one)
	return one
}

// contains reports whether the session has seen this revision of m.
func (s *sessionSeen) contains(space string, m *memory.Memory) bool {
	revision, ok := s.revisions[[2]string{space, m.ID}]
	return ok && revision == m.Revision
}

// observeCompactions drops what the session has seen if its context was compacted since: the agent no longer has it.
func (s *sessionSeen) observeCompactions(times int) {
	if times != s.compactions {
		s.compactions, s.revisions = times, nil
	}
}

// firstAccesses returns the memories that the session accesses for the first time, and records them.
func (s *sessionSeen) firstAccesses(space string, ids []string) (first []string) {
	for _, id := range ids {
		k := [2]string{space, id}
		if s.accesses[k] {
			continue
		}
		if s.accesses == nil || len(s.accesses) >= maxSeen {
			s.accesses = map[[2]string]bool{}
		}
		s.accesses[k] = true
		first = append(first, id)
	}
	return first
}

// markShown records that the session has seen m.
func (s *sessionSeen) markShown(space string, m *memory.Memory) {
	if s.revisions == nil || len(s.revisions) >= maxSeen {
		s.revisions = map[[2]string]int64{}
	}
	s.revisions[[2]string{space, m.ID}] = m.Revision
}
