// Package background lets work that nobody waits for step aside while requests are answered.
package background

import (
	"context"
	"sync"
	"time"
)

// aside is how long such work waits at each step while requests are answered: with steps of half a millisecond it gets
// a tenth of one processor then. Low priority alone does not do: a thread that waits for its turn keeps its share of
// Go's scheduler, which on two processors is half of what requests have.
const aside = 5 * time.Millisecond

// Pace is that of some work. The zero value never waits. It is safe for concurrent use when its functions are.
type Pace struct {
	// Busy reports whether requests are answered at the moment, which come first; nil is never.
	Busy func() bool
	// Urgent returns a channel that is closed as soon as, and while, somebody waits for the work; nil is never.
	Urgent func() <-chan struct{}
}

// Step waits for some milliseconds while requests are answered, unless the work is urgent. It is called between pieces
// of work that take about half a millisecond. Error: that of ctx.
func (p Pace) Step(ctx context.Context) error {
	if p.Busy == nil || !p.Busy() {
		return ctx.Err()
	}
	timer := time.NewTimer(aside)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.Urgency():
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Urgency is what Urgent returns, nil without it.
func (p Pace) Urgency() <-chan struct{} {
	if p.Urgent == nil {
		return nil
	}
	return p.Urgent()
}

// Waiters counts those who wait for some work, which makes it urgent. The zero value is ready. It is safe for
// concurrent use.
type Waiters struct {
	mu     sync.Mutex
	count  int
	urgent chan struct{} // closed while there are waiters; nil when nobody asked
}

// Wait makes the work urgent until the function that it returns is called.
func (w *Waiters) Wait() (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count++; w.count == 1 && w.urgent != nil {
		close(w.urgent)
	}
	return w.done
}

func (w *Waiters) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count--; w.count == 0 {
		w.urgent = nil
	}
}

// Urgent returns a channel that is closed as soon as somebody waits.
func (w *Waiters) Urgent() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.urgent == nil {
		w.urgent = make(chan struct{})
		if w.count > 0 {
			close(w.urgent)
		}
	}
	return w.urgent
}
