package recall

import (
	"slices"
	"sync"
	"time"
)

const (
	maxTraces     = 1024
	maxTraceQuery = 200 // characters of a prompt that are kept
)

// Trace says which memories one recall has shown, and for what.
type Trace struct {
	At       time.Time
	Session  string // "" when the request named none
	Query    string // the beginning of the prompt, redacted
	Explicit bool
	Memories []Traced
}

// Traced is a memory of a trace.
type Traced struct {
	Space, ID string
	Score     float64
}

// TraceFilter narrows a list of traces; an empty field is no condition.
type TraceFilter struct {
	Session, Memory string
	Limit           int // most traces; 0 is all
}

// Traces returns the newest recalls that showed something, newest first. They are kept in memory, the last 1,024 of them, since
// the start of the daemon; that memories were shown is also counted in the memories themselves.
func (s *Service) Traces(f TraceFilter) []Trace { return s.traces.list(f) }

// ForgetTraces drops all of them, for a purge: the prompts may hold what was erased.
func (s *Service) ForgetTraces() {
	s.traces.mu.Lock()
	defer s.traces.mu.Unlock()
	s.traces.ring, s.traces.next = nil, 0
}

// traces is a ring. The zero value is ready to use.
type traces struct {
	mu   sync.Mutex
	ring []Trace // guarded by mu
	next int     // where the next one goes; guarded by mu
}

func (t *traces) add(one Trace) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ring) < maxTraces {
		t.ring = append(t.ring, one)
	} else {
		t.ring[t.next] = one
	}
	t.next = (t.next + 1) % maxTraces
}

func (t *traces) list(f TraceFilter) (out []Trace) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.ring {
		one := t.ring[(t.next-1-i+2*maxTraces)%maxTraces]
		if f.Session != "" && one.Session != f.Session ||
			f.Memory != "" && !slices.ContainsFunc(one.Memories, func(m Traced) bool { return m.ID == f.Memory }) {
			continue
		}
		out = append(out, one)
		if len(out) == f.Limit {
			break
		}
	}
	return out
}

func traceOf(req *Request, query string, items []Item, now time.Time) Trace {
	out := Trace{At: now, Session: req.Session, Explicit: req.Explicit}
	out.Query, _ = clip(clean(query), maxTraceQuery)
	for _, it := range items {
		out.Memories = append(out.Memories, Traced{Space: it.Space, ID: it.Memory.ID, Score: it.Score})
	}
	return out
}
