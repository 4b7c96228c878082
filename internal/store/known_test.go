package store_test

import (
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// TestKnownAt: a memory is as old as what it says. Only another text makes it younger, and an undo of that older again.
func TestKnownAt(t *testing.T) {
	clock := new(memtest.Clock)
	s := memtest.Open(t, store.Config{FS: crashfs.New(), Now: clock.Now})
	learnt := memtest.Epoch.AddDate(0, 0, -40)
	m := memtest.Fact("a", "The port is 8443.")
	m.CreatedAt = learnt
	var last int64
	put := func(change func(*memory.Memory)) {
		t.Helper()
		clock.Advance(24 * time.Hour)
		res, err := s.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			c := m
			if have := tx.Memory("a"); have != nil {
				c = have.Clone()
			}
			change(c)
			return tx.Put(c)
		})
		if err != nil {
			t.Fatal(err)
		}
		last = res.Op
	}
	check := func(what string, want time.Time) {
		t.Helper()
		got, err := s.Space("").Get("a")
		if err != nil || !got.KnownAt().Equal(want) {
			t.Errorf("%s: known at %v, want %v (%v)", what, got.KnownAt(), want, err)
		}
	}
	put(func(*memory.Memory) {})
	check("added with a time of its own", learnt)
	put(func(m *memory.Memory) { m.Category, m.Salience, m.Pinned = memory.Preferences, 0.9, true })
	check("put into another category", learnt)
	s.CountAccess(memory.DefaultSpace, []string{"a"}, clock.Now())
	if err := s.FlushAccesses(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("found", learnt)
	put(func(m *memory.Memory) { m.Content = "The port is 9443." })
	changed := clock.Now()
	check("said anew", changed)
	change := last
	clock.Advance(24 * time.Hour)
	if _, err := s.Undo(t.Context(), store.Meta{Actor: journal.ActorClient}, change); err != nil {
		t.Fatal(err)
	}
	check("said as before", learnt)
}

// TestSettleAccesses: who looks behind a search sees the access at once, and a look alone writes nothing.
func TestSettleAccesses(t *testing.T) {
	clock := new(memtest.Clock)
	s := memtest.Open(t, store.Config{FS: crashfs.New(), Now: clock.Now})
	if _, err := s.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
		return tx.Put(memtest.Fact("a", "The port is 8443."))
	}); err != nil {
		t.Fatal(err)
	}
	look := func() (count, lsn int64) {
		t.Helper()
		if err := s.SettleAccesses(t.Context(), memory.DefaultSpace, []string{"a", "unknown"}); err != nil {
			t.Fatal(err)
		}
		m, err := s.Space("").Get("a")
		if err != nil {
			t.Fatal(err)
		}
		return m.AccessCount(), s.LSN()
	}
	_, before := look()
	s.CountAccess(memory.DefaultSpace, []string{"other"}, clock.Now())
	if count, lsn := look(); count != 0 || lsn != before {
		t.Errorf("%d accesses, operation %d instead of %d, and nobody found it", count, lsn, before)
	}
	s.CountAccess(memory.DefaultSpace, []string{"a"}, clock.Now())
	if count, _ := look(); count != 1 {
		t.Errorf("%d accesses, want 1", count)
	}
}
