package share

import (
	"slices"
	"testing"
)

// TestQueue: what requests wait for comes first, in order, and the others have their turn all the same.
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
	q.drop(gone)
	var got []string
	for sp := q.take(); sp != nil; sp = q.take() {
		if got = append(got, sp.name); sp == a {
			q.put(named("late"), true)
			q.put(c, false)
		}
	}
	if want := []string{"c", "a", "late", "b", "c"}; !slices.Equal(got, want) || !q.empty() {
		t.Errorf("taken: %v; want %v; empty: %v", got, want, q.empty())
	}

	q.put(a, false)
	for range 2 * waitersInARow {
		q.put(named("awaited"), true)
	}
	got = nil
	for sp := q.take(); sp != nil; sp = q.take() {
		got = append(got, sp.name)
	}
	if i := slices.Index(got, "a"); i != waitersInARow || len(got) != 2*waitersInARow+1 {
		t.Errorf("one that nobody waits for came as number %d of %d; want %d", i, len(got), waitersInARow)
	}
}
