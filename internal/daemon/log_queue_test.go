package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipe is a writer that blocks while nobody reads.
type pipe struct {
	open chan struct{} // closed when somebody reads

	mu  sync.Mutex
	got bytes.Buffer
}

func (p *pipe) Write(b []byte) (int, error) {
	<-p.open
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got.Write(b)
}

// TestLogQueue: a log that nobody reads costs lines, never time; what was dropped is counted and told.
func TestLogQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &pipe{open: make(chan struct{})}
		q := NewLogQueue(w)
		const lines = logQueueBytes / 4
		for i := range lines {
			if n, err := fmt.Fprintf(q, "line %d\n", i); n == 0 || err != nil {
				t.Fatal(n, err)
			}
		}
		if q.Dropped() < lines/2 || q.Dropped() >= lines {
			t.Fatalf("%d of %d lines were dropped", q.Dropped(), lines)
		}
		dropped := q.Dropped()
		close(w.open)
		synctest.Wait()
		q.Close(time.Second)
		got := w.got.String()
		if want := fmt.Sprintf(`"dropped":%d`, dropped); strings.Count(got, want) != 1 {
			t.Errorf("the log does not say %s once:\n%.300s", want, got)
		}
		if n := int64(strings.Count(got, "line ")); n != lines-dropped {
			t.Errorf("%d lines were written, want %d", n, lines-dropped)
		}
		before := q.Dropped()
		if _, err := q.Write([]byte("late\n")); err != nil || q.Dropped() != before+1 {
			t.Errorf("a line after Close: %v", err)
		}
	})
}

// TestLogQueueBytes: long lines do not fill the memory. One queue of them is being written while another waits.
func TestLogQueueBytes(t *testing.T) {
	w := &pipe{open: make(chan struct{})}
	q := NewLogQueue(w)
	const lines, fit = 100, 8
	line := bytes.Repeat([]byte{'x'}, logQueueBytes/fit)
	for range lines {
		_, _ = q.Write(line)
	}
	if q.Dropped() < lines-2*fit {
		t.Errorf("only %d of %d lines were dropped", q.Dropped(), lines)
	}
	close(w.open)
	q.Close(time.Minute)
}

// TestLogQueueGathers: lines that follow each other are one write, a line alone does not wait for others, and a stop
// waits for none.
func TestLogQueueGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &counter{}
		q := NewLogQueue(w)
		for range 10 {
			_, _ = q.Write([]byte("line\n"))
		}
		time.Sleep(gatherLines)
		synctest.Wait()
		if w.writes != 1 || w.bytes != 50 {
			t.Errorf("10 lines were %d writes of %d bytes, want 1 of 50", w.writes, w.bytes)
		}
		_, _ = q.Write([]byte("last\n"))
		start := time.Now()
		q.Close(time.Second)
		if w.bytes != 55 || time.Since(start) != 0 {
			t.Errorf("after a stop of %v there are %d bytes, want 55", time.Since(start), w.bytes)
		}
	})
}

// counter counts writes.
type counter struct{ writes, bytes int }

func (c *counter) Write(b []byte) (int, error) {
	c.writes++
	c.bytes += len(b)
	return len(b), nil
}

// TestLogQueueCloses: a stop does not wait for a log that nobody reads.
func TestLogQueueCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &pipe{open: make(chan struct{})}
		q := NewLogQueue(w)
		_, _ = q.Write([]byte("line\n"))
		start := time.Now()
		q.Close(time.Second)
		if took := time.Since(start); took != time.Second {
			t.Errorf("it took %v", took)
		}
		close(w.open)
	})
}

// TestStopLimit: a stop that hangs is ended after its limit, one that does not is left alone.
func TestStopLimit(t *testing.T) {
	for name, hangs := range map[string]bool{"hangs": true, "ends": false} {
		synctest.Test(t, func(t *testing.T) {
			var aborted time.Duration
			start := time.Now()
			ctx, stop := context.WithCancel(t.Context())
			done := Options{Logger: slog.New(slog.DiscardHandler), Abort: func() { aborted = time.Since(start) }}.limitStop(ctx)
			stop()
			if !hangs {
				done()
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if hangs != (aborted == StopLimit) {
				t.Errorf("%s: aborted after %v", name, aborted)
			}
			if hangs {
				done()
			}
		})
	}
}
