package share

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRestOfSpace: what is written while a space rests waits for the others, unless a request waits for it.
func TestRestOfSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLink(nil, "")
		sp, other := newSpace("a", &state{}), newSpace("b", &state{})
		l.wake(sp, false)
		if l.take() != sp {
			t.Fatal("a space that has not been exchanged waits")
		}
		began := time.Now()
		for range 3 {
			l.wake(sp, false)
		}
		l.put([]*space{sp})
		l.wake(other, false)
		if got := l.take(); got != other {
			t.Errorf("taken: %v, want the space that does not rest", got)
		}
		if got := l.take(); got != nil {
			t.Errorf("taken: %v although it rests", got)
		}
		l.wake(sp, true)
		if l.take() != sp {
			t.Error("a request waits for a space that rests")
		}
		l.wake(sp, false)
		time.Sleep(time.Until(began.Add(shortestRest)))
		synctest.Wait()
		if l.take() != sp || l.take() != nil {
			t.Error("a space that has rested is not queued once")
		}
		time.Sleep(longestRest)
		synctest.Wait()
		if l.take() != nil {
			t.Error("a space without news is queued")
		}
	})
}

// TestRestGrows: rests of a space that is written to all the time become longer up to a bound, and one that is left
// alone for a rest is soon exchanged again.
func TestRestGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLink(nil, "")
		sp := newSpace("a", &state{})
		rest := func(writes int) time.Duration {
			t.Helper()
			if l.take() != sp {
				t.Fatal("the space is not queued")
			}
			for range writes {
				l.wake(sp, false)
			}
			began := time.Now()
			for {
				time.Sleep(time.Millisecond)
				synctest.Wait()
				l.mu.Lock()
				idle := l.due.empty()
				l.mu.Unlock()
				if !idle {
					return time.Since(began)
				}
			}
		}
		l.wake(sp, false)
		for i, tt := range []struct {
			writes int
			want   time.Duration
		}{{2, 2}, {2, 4}, {5, 8}, {2, 16}, {2, 16}, {1, 16}, {1, 2}, {2, 2}, {1, 4}} {
			if got := rest(tt.writes); got != tt.want*time.Millisecond {
				t.Errorf("rest %d took %v, want %d ms", i, got, tt.want)
			}
		}
	})
}

// TestRestEnds: a rest is of one link, and ends when the space leaves it.
func TestRestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, next := newLink(nil, ""), newLink(nil, "")
		sp := newSpace("a", &state{})
		l.wake(sp, false)
		if l.take() != sp {
			t.Fatal("the space is not queued")
		}
		l.wake(sp, false) // for the end of the rest
		next.wake(sp, false)
		if next.take() != sp {
			t.Error("the rest at one link keeps the space from another")
		}
		l.remove(sp)
		time.Sleep(longestRest)
		synctest.Wait()
		if l.take() != nil {
			t.Error("a space that was removed is queued when it has rested")
		}
	})
}

// TestAnyUpTo: an exchange sends what waited at its beginning.
func TestAnyUpTo(t *testing.T) {
	w := newWaiting("a")
	if w.anyUpTo(9) {
		t.Error("nothing waits")
	}
	w.ops = []waitingOp{{op: 3}, {op: 8}}
	if w.anyUpTo(2) || !w.anyUpTo(3) || !w.anyUpTo(9) {
		t.Error("operation 3 is the oldest that waits")
	}
}
