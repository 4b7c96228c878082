package search_test

import (
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/search"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestAccessesWaitForNobody: while somebody searches accesses are not taken up, and the search does not wait for
// them; afterwards they are.
func TestAccessesWaitForNobody(t *testing.T) {
	e := loaded(t, uniform(3, commonWords, 1))
	find := func() *memory.Memory {
		t.Helper()
		got, err := e.Search(t.Context(), search.Request{Query: "group0", K: 1})
		if err != nil || len(got.Hits) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		return got.Hits[0].Memory
	}
	id := find().ID
	access := journal.Change{Access: &journal.AccessChange{ID: id, Count: 3, At: epoch}}
	searching := e.HoldReadLock("")
	e.Apply(record(100, "", access))
	if e.DrainAccesses() {
		t.Error("accesses were taken up in the middle of a search")
	}
	if n := find().AccessCount; n != 0 {
		t.Errorf("%d accesses, want none yet", n)
	}
	searching()
	if !e.DrainAccesses() {
		t.Error("accesses were not taken up though nobody searches")
	}
	if n := find().AccessCount; n != 3 || e.QueuedRecords() != 0 {
		t.Errorf("%d accesses, want 3; %d records wait", n, e.QueuedRecords())
	}

	defer e.HoldReadLock("")()
	e.Apply(record(101, "", access)) // takes nobody's place in the queue
	changed := find().Clone()
	changed.Content = "apricot once more"
	e.Apply(record(102, "", journal.Change{Memory: &journal.MemoryChange{ID: id, After: changed}}))
	if e.DrainAccesses() {
		t.Error("accesses were taken up in the middle of a search")
	}
	if n := e.QueuedRecords(); n != 2 {
		t.Errorf("%d records wait, want 2", n)
	}
}
