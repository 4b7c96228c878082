package daemon

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what waits to be written to the log.
const (
	logQueueLines = 4096
	logQueueBytes = 1 << 20
)

// LogQueue writes log lines to a writer that may block for ever, a pipe that nobody reads for example, without ever
// blocking the caller: a request must not wait for the reader of the log. What does not fit into the queue is dropped
// and counted; a line says how many, once the writer accepts lines again. It is safe for concurrent use.
type LogQueue struct {
	lines   chan []byte
	dropped atomic.Int64 // since the start

	mu      sync.Mutex
	bytes   int  // in lines; guarded by mu
	closed  bool // guarded by mu
	written chan struct{}
}

// NewLogQueue begins to write to w. Close ends that.
func NewLogQueue(w io.Writer) *LogQueue {
	q := &LogQueue{lines: make(chan []byte, logQueueLines), written: make(chan struct{})}
	go q.run(w)
	return q
}

// Write queues one line, or drops it. It never blocks and never fails.
func (q *LogQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	// The writer keeps its own buffer, and a slog.Handler reuses the one it passes.
	if q.closed || q.bytes+len(line) > logQueueBytes || len(q.lines) == cap(q.lines) {
		q.dropped.Add(1)
		return len(line), nil
	}
	q.bytes += len(line)
	q.lines <- append([]byte(nil), line...)
	return len(line), nil
}

// Dropped is how many lines were dropped since the start.
func (q *LogQueue) Dropped() int64 { return q.dropped.Load() }

// Close waits until everything queued is written, for wait at most. Later lines are dropped.
func (q *LogQueue) Close(wait time.Duration) {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.lines)
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
	for line := range q.lines {
		q.mu.Lock()
		q.bytes -= len(line)
		q.mu.Unlock()
		_, _ = w.Write(line) // there is nowhere to report it to
		if dropped := q.Dropped(); dropped > told {
			// Both of the daemon's log formats have a line that looks like this one to people, and one is JSON.
			_, _ = fmt.Fprintf(w, "{\"level\":\"WARN\",\"msg\":\"log lines were dropped, because nobody read the log\","+
				"\"dropped\":%d}\n", dropped-told)
			told = dropped
		}
	}
}
