package daemon

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// logQueueBytes bounds what waits to be written to the log, and as much again may be being written.
const logQueueBytes = 1 << 20

// gatherLines is how long lines wait for more of them. Each write would otherwise come before the reply to the request
// that the line is about.
const gatherLines = 5 * time.Millisecond

// LogQueue writes log lines to a writer that may block for ever, a pipe that nobody reads for example, without ever
// blocking the caller: a request must not wait for the reader of the log. What does not fit into the queue is dropped
// and counted; a line says how many, once the writer accepts lines again. What was queued in the last milliseconds is
// lost when the process is killed. It is safe for concurrent use.
type LogQueue struct {
	dropped atomic.Int64 // lines, since the start

	mu      sync.Mutex
	lines   []byte // guarded by mu
	closed  bool   // guarded by mu
	wake    chan struct{}
	closing chan struct{}
	written chan struct{}
}

// NewLogQueue begins to write to w. Close ends that.
func NewLogQueue(w io.Writer) *LogQueue {
	q := &LogQueue{wake: make(chan struct{}, 1), closing: make(chan struct{}), written: make(chan struct{})}
	go q.run(w)
	return q
}

// Write queues one line, or drops it. It never blocks and never fails.
func (q *LogQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.lines)+len(line) > logQueueBytes {
		q.dropped.Add(1)
		return len(line), nil
	}
	q.lines = append(q.lines, line...)
	select {
	case q.wake <- struct{}{}:
	default: // the writer has not looked yet
	}
	return len(line), nil
}

// Dropped is how many lines were dropped since the start.
func (q *LogQueue) Dropped() int64 { return q.dropped.Load() }

// Close waits until everything queued is written, for wait at most. Later lines are dropped.
func (q *LogQueue) Close(wait time.Duration) {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.closing)
	}
	q.mu.Unlock()
	select {
	case <-q.written:
	case <-time.After(wait):
	}
}

// run writes the lines. It may hang in a write for ever; the process ends without it.
func (q *LogQueue) run(w io.Writer) {
	defer close(q.written)
	told := int64(0)
	for closed := false; !closed; {
		closed = q.gather()
		q.mu.Lock()
		lines := q.lines
		q.lines = nil
		q.mu.Unlock()
		_, _ = w.Write(lines) // there is nowhere to report it to
		if dropped := q.Dropped(); dropped > told {
			// Both of the daemon's log formats have a line that looks like this one to people, and one is JSON.
			_, _ = fmt.Fprintf(w, "{\"level\":\"WARN\",\"msg\":\"log lines were dropped, because nobody read the log\","+
				"\"dropped\":%d}\n", dropped-told)
			told = dropped
		}
	}
}

// gather waits for a line and those that follow it, and reports whether no more will come.
func (q *LogQueue) gather() (closed bool) {
	select {
	case <-q.wake:
	case <-q.closing:
		return true
	}
	select {
	case <-time.After(gatherLines):
		return false
	case <-q.closing:
		return true
	}
}
