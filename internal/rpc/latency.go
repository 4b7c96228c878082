package rpc

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// ringSize is how many of a method's newest calls its latencies are taken from.
const ringSize = 512

// Latency says how long the newest calls of a method took.
type Latency struct {
	Method   string
	Count    int64 // all calls
	P50, P99 time.Duration
}

// latencies of all methods.
type latencies struct {
	mu      sync.Mutex
	methods map[string]*ring // guarded by mu
}

// ring holds how long the newest calls of one method took, in no order once it is full.
type ring struct {
	took  [ringSize]time.Duration
	count int64
}

// add records one call. The oldest call leaves the ring when it is full.
func (l *latencies) add(method string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.methods[method]
	if r == nil {
		r = &ring{}
		l.methods[method] = r
	}
	r.took[r.count%ringSize] = took
	r.count++
}

// Latencies lists all methods called so far, by name.
func (m *Monitor) Latencies() []Latency {
	m.latencies.mu.Lock()
	defer m.latencies.mu.Unlock()
	out := make([]Latency, 0, len(m.latencies.methods))
	for name, r := range m.latencies.methods {
		sorted := slices.Sorted(slices.Values(r.took[:min(r.count, ringSize)]))
		out = append(out, Latency{Method: name, Count: r.count, P50: quantile(sorted, 50), P99: quantile(sorted, 99)})
	}
	slices.SortFunc(out, func(a, b Latency) int { return cmp.Compare(a.Method, b.Method) })
	return out
}

// quantile is the smallest value that percent of all values do not exceed.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}
