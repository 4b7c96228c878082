package background_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/process/background"
)

// steps is how long ten steps take in a bubble, whose clock moves only while everything waits.
func steps(t *testing.T, p background.Pace) time.Duration {
	t.Helper()
	start := time.Now()
	for range 10 {
		if err := p.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(start)
}

func TestStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := false
		var waiters background.Waiters
		p := background.Pace{Busy: func() bool { return busy }, Urgent: waiters.Urgent}
		if took := steps(t, p); took > 0 {
			t.Errorf("it waited %v for nobody", took)
		}
		busy = true
		if took := steps(t, p); took < 10*time.Millisecond {
			t.Errorf("it waited %v while requests are answered", took)
		}
		done, other := waiters.Wait(), waiters.Wait()
		if took := steps(t, p); took > 0 {
			t.Errorf("it waited %v although somebody waits", took)
		}
		done()
		if took := steps(t, p); took > 0 {
			t.Errorf("it waited %v although another waits", took)
		}
		other()
		if took := steps(t, p); took == 0 {
			t.Error("it is urgent when nobody waits any more")
		}
		if took := steps(t, background.Pace{}); took > 0 {
			t.Errorf("the zero value waited %v", took)
		}
	})
}

// TestStepEnds: a step that waits ends as soon as the work becomes urgent, or its context ends.
func TestStepEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waiters background.Waiters
		p := background.Pace{Busy: func() bool { return true }, Urgent: waiters.Urgent}
		start := time.Now()
		time.AfterFunc(time.Millisecond, func() { waiters.Wait() })
		if err := p.Step(t.Context()); err != nil || time.Since(start) != time.Millisecond {
			t.Errorf("it waited %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start = time.Now()
		if err := (background.Pace{Busy: p.Busy}).Step(ctx); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(start) != time.Millisecond {
			t.Errorf("it waited %v: %v", time.Since(start), err)
		}
	})
}
