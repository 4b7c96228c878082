package share

import (
	"slices"
	"testing"
)

// TestQueue: what requests wait for takes turns with the others, each kind in order.
func TestQueue(t *testing.T) {
	t.Parallel()
	q := newQueue()
	named := func(name string) *space { return &space{name: name} }
	a, b, c, gone := named("a"), named("b"), named("c"), named("gone")
	for _, sp := range []*space{a, gone, b, c, a} {
		q.put(sp, false)
	}
	q.put(c, true) // a request waits for one that is queued already
	q.put(c, false)
	q.put(named("d"), true)
	q.put(named("e"), true)
	q.drop(gone)
	var got []string
	for sp := q.take(); sp != nil; sp = q.take() {
		if got = append(got, sp.name); sp == b {
			q.put(named("late"), true)
			q.put(c, false)
		}
	}
	if want := []string{"c", "a", "d", "b", "e", "c", "late"}; !slices.Equal(got, want) || !q.empty() {
		t.Errorf("taken: %v; want %v; empty: %v", got, want, q.empty())
	}
}
