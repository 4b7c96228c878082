package search_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

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
	if n := find().AccessCount(); n != 0 {
		t.Errorf("%d accesses, want none yet", n)
	}
	searching()
	if !e.DrainAccesses() {
		t.Error("accesses were not taken up though nobody searches")
	}
	if n := find().AccessCount(); n != 3 || e.QueuedRecords() != 0 {
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

// TestBurstIsIndexedTogether: what follows within a moment is indexed with the first of it, and a search in between
// waits for nothing but its own work.
func TestBurstIsIndexedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := loaded(t, uniform(1, commonWords, 1))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.RunIndexing(ctx) }()
		time.Sleep(time.Second) // what was loaded is indexed
		add := func(lsn int64, id, content string) {
			m := &memory.Memory{ID: id, Category: memory.General, Content: content, Status: memory.Active, Revision: lsn}
			e.Apply(record(lsn, "", journal.Change{Memory: &journal.MemoryChange{ID: id, After: m}}))
			synctest.Wait()
		}
		add(100, "first", "The ferry leaves at noon.")
		add(101, "second", "The harbour opens at dawn.")
		if n := e.QueuedRecords(); n != 2 {
			t.Errorf("%d records wait, want 2", n)
		}
		got, err := e.Search(t.Context(), search.Request{Query: "harbour", K: 1})
		if err != nil || len(got.Hits) != 1 || e.QueuedRecords() != 0 {
			t.Errorf("a search meanwhile: %+v, %v; %d records wait", got, err, e.QueuedRecords())
		}
		add(102, "third", "The lighthouse was painted.")
		time.Sleep(time.Second)
		synctest.Wait()
		if n := e.QueuedRecords(); n != 0 {
			t.Errorf("%d records wait, want none", n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
