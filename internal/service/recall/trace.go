package recall

import (
	"slices"
	"sync"
	"time"
)

const (
	maxTraces     = 1024 // newest traces kept
	maxTraceQuery = 200  // characters of a prompt kept
)

// Trace records which memories one recall showed, and for which prompt.
type Trace struct {
	At       time.Time
	Session  string // "" without one
	Query    string // the beginning of the prompt, redacted
	Explicit bool
	Memories []Traced
}

// Traced is a memory of a trace.
type Traced struct {
	Space, ID string
	Score     float64
}

// TraceFilter selects traces; an empty field matches all.
type TraceFilter struct {
	Session, Memory string
	Limit           int // maximum number; 0 is all
}

// Traces returns recalls that showed something, newest first: the last 1,024 since the start of the daemon. They are
// kept in RAM only; the access counts of the memories are durable.
func (s *Service) Traces(f TraceFilter) []Trace { return s.traces.list(f) }

// ForgetTraces drops all traces. A purge calls it, because prompts may contain the purged text.
func (s *Service) ForgetTraces() {
	s.traces.mu.Lock()
	defer s.traces.mu.Unlock()
	s.traces.ring, s.traces.next = nil, 0
}

// traces is a ring buffer. The zero value is ready to use.
type traces struct {
	mu   sync.Mutex
	ring []Trace // guarded by mu
	next int     // index of the next one; guarded by mu
}

// add overwrites the oldest trace once the ring is full.
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

// list returns the newest traces first, so that a limit keeps what was just recalled.
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

// traceOf returns the trace of one recall.
func traceOf(req *Request, query string, items []Item, now time.Time) Trace {
	out := Trace{At: now, Session: req.Session, Explicit: req.Explicit}
	out.Query, _ = truncate(sanitize(query), maxTraceQuery)
	for _, it := range items {
		out.Memories = append(out.Memories, Traced{Space: it.Space, ID: it.Memory.ID, Score: it.Score})
	}
	return out
}
