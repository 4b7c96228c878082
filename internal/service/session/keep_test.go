package session_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memsidecar/memsidecar/internal/llm"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/reflector"
	"github.com/memsidecar/memsidecar/internal/service/session"
)

// TestCallerGoesAway: what was begun for a caller is ended without it, so that nothing is asked twice. The stop of
// the daemon ends it.
func TestCallerGoesAway(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop bool
		want memory.SessionState
	}{
		{"caller", false, memory.SessionReflected},
		{"daemon", true, memory.SessionEnded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stopping := make(chan struct{})
				b := newBench(t, func(c *session.Config) { c.Stopping = stopping })
				b.fake.took = time.Minute
				b.append("s", 1, "a")
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				var wg sync.WaitGroup
				wg.Go(func() {
					_, err := b.svc.Reflect(ctx, session.ReflectRequest{ID: "s", Wait: true})
					if stopped := errors.Is(err, context.Canceled); stopped != tt.stop {
						t.Errorf("got %v", err)
					}
				})
				if time.Sleep(2 * time.Second); tt.stop {
					close(stopping)
				}
				wg.Wait()
				if got := b.state("s"); got != tt.want || len(b.fake.calls) != 1 {
					t.Errorf("state %s after %q", got, b.fake.calls)
				}
				b.close()
			})
		})
	}
}

// TestWaitsForModel: a model that is down is no error of the caller's, and the worker tries again.
func TestWaitsForModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.append("s", 1, "a")
		b.fake.fail = func(string) error {
			return &reflector.WaitError{Err: &llm.Error{Reason: llm.ErrUnreachable, Later: true}}
		}
		res, err := b.svc.Reflect(t.Context(), session.ReflectRequest{ID: "s", Wait: true})
		if err != nil || !res.Queued || res.Waits == "" || b.state("s") != memory.SessionEnded {
			t.Errorf("%+v, %v", res, err)
		}
		b.fake.fail = nil
		b.runFor(time.Minute)
		if b.state("s") != memory.SessionReflected || len(b.fake.calls) != 2 {
			t.Errorf("state %s after %q", b.state("s"), b.fake.calls)
		}
		b.close()
	})
}
