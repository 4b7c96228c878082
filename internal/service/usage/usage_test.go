package usage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/service/usage"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type world struct {
	t     *testing.T
	clock *memtest.Clock
	store *store.Store
	count *usage.Service
}

func newWorld(t *testing.T, loc *time.Location) *world {
	w := &world{t: t, clock: &memtest.Clock{}}
	w.store = memtest.Open(t, store.Config{FS: crashfs.New(), Now: w.clock.Now})
	w.count = usage.New(w.store, loc)
	return w
}

func (w *world) update(space, actor string, fn func(tx *store.Tx) error) {
	w.t.Helper()
	_, err := w.store.Update(w.t.Context(), store.Meta{Space: space, Actor: actor}, fn)
	must(w.t, err)
}

func (w *world) add(space, id, category string) {
	w.t.Helper()
	w.update(space, journal.ActorClient, func(tx *store.Tx) error {
		m := memtest.Fact(id, "content of "+id)
		m.Category, m.CreatedAt = category, w.clock.Now()
		return tx.Put(m)
	})
}

func (w *world) days(spaces []string, from, to string) usage.Days {
	w.t.Helper()
	got, err := w.count.Days(w.t.Context(), spaces, from, to)
	must(w.t, err)
	return got
}

type counts = map[string]int64

func day(date string, added, ended, operations counts, logs, accesses, messages int64) usage.Day {
	return usage.Day{Date: date, Added: added, Removed: ended, Operations: operations, LogEntries: logs,
		Accesses: accesses, Messages: messages}
}

// What is counted first, what is counted on top of it, and what a service that starts now counts must be the same.
func (w *world) same(spaces []string, want usage.Days) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.days(spaces, "", "")); diff != "" {
		w.t.Errorf("counted on (-want +got):\n%s", diff)
	}
	fresh, err := usage.New(w.store, time.UTC).Days(w.t.Context(), spaces, "", "")
	must(w.t, err)
	if diff := cmp.Diff(want, fresh); diff != "" {
		w.t.Errorf("counted anew (-want +got):\n%s", diff)
	}
}

func TestDays(t *testing.T) {
	w := newWorld(t, time.UTC)
	w.add("default", "a", "facts")
	w.add("default", "b", "tasks")
	w.add("work", "a", "facts")
	w.same(nil, usage.Days{
		HistoryStart: "2026-02-21", Active: counts{"facts": 2, "tasks": 1},
		Days: []usage.Day{day("2026-02-21", counts{"facts": 2, "tasks": 1}, counts{}, counts{"client": 3}, 0, 0, 0)},
	})

	w.clock.Advance(24 * time.Hour)
	w.update("default", journal.ActorReflect, func(tx *store.Tx) error {
		m := tx.Memory("b").Clone()
		m.Status, m.UpdatedAt = memory.Retired, w.clock.Now()
		return tx.Put(m)
	})
	w.update("default", journal.ActorClient, func(tx *store.Tx) error {
		for _, id := range []string{"e1", "e2"} {
			e := &memory.Entry{ID: id, Time: "10:00:00", At: w.clock.Now(), Type: memory.EntryEvent, Content: id}
			if err := tx.AppendEntry("2026-02-20", e); err != nil {
				return err
			}
		}
		return nil
	})
	w.update("default", journal.ActorSession, func(tx *store.Tx) error {
		tx.PutSession(&memory.Session{ID: "s"})
		return tx.AppendMessage("s", &memory.Message{Seq: 1, Role: "user", Content: "x", At: w.clock.Now()})
	})
	w.store.CountAccess("default", []string{"a", "a"}, w.clock.Now())
	w.store.CountAccess("default", []string{"a"}, w.clock.Now())
	must(t, w.store.FlushAccesses(t.Context()))
	second := day("2026-02-22", counts{}, counts{"tasks": 1}, counts{"client": 1, "reflect": 1}, 0, 3, 1)
	w.same([]string{"default"}, usage.Days{
		HistoryStart: "2026-02-21", Active: counts{"facts": 1},
		Days: []usage.Day{
			day("2026-02-20", counts{}, counts{}, counts{}, 2, 0, 0),
			day("2026-02-21", counts{"facts": 1, "tasks": 1}, counts{}, counts{"client": 2}, 0, 0, 0), second,
		},
	})
	if got := w.days([]string{"default"}, "2026-02-22", "2026-02-28").Days; !cmp.Equal(got, []usage.Day{second}) {
		t.Errorf("from the 22nd: %v", got)
	}
	if got := w.days([]string{"nowhere"}, "", ""); len(got.Days) != 0 || len(got.Active) != 0 {
		t.Errorf("a space that is not there: %v", got)
	}
}

// An archived log counts for what it had, once.
func TestDeletedLogs(t *testing.T) {
	w := newWorld(t, time.UTC)
	w.update("default", journal.ActorArchive, func(tx *store.Tx) error {
		tx.PutArchived(&memory.Archived{ID: "2026-01-05", Date: "2026-01-05", Entries: 7, At: w.clock.Now(),
			DeletedAt: w.clock.Now()})
		tx.PutArchived(&memory.Archived{ID: "2026-01-06", Date: "2026-01-06", Entries: 3, At: w.clock.Now()})
		return nil
	})
	got := w.days(nil, "", "2026-01-31").Days
	if want := []usage.Day{day("2026-01-05", counts{}, counts{}, counts{}, 7, 0, 0)}; !cmp.Equal(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

// A day is one of the place where the daemon runs.
func TestLocation(t *testing.T) {
	w := newWorld(t, time.FixedZone("UTC+14", 14*3600))
	w.add("default", "a", "facts") // 10:30 UTC
	if got := w.days(nil, "", ""); len(got.Days) != 1 || got.Days[0].Date != "2026-02-22" ||
		got.HistoryStart != "2026-02-22" {
		t.Errorf("%v", got)
	}
}

// A count that was broken off is not counted twice.
func TestBrokenOff(t *testing.T) {
	w := newWorld(t, time.UTC)
	w.add("default", "a", "facts")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.count.Days(ctx, nil, "", ""); err == nil {
		t.Fatal("no error")
	}
	if got := w.days(nil, "", "").Days[0].Operations["client"]; got != 1 {
		t.Errorf("%d operations", got)
	}
}

func BenchmarkDays(b *testing.B) {
	st := memtest.OpenStore(b, crashfs.New())
	for i := range 10 {
		_, err := st.Update(b.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			for j := range 1000 {
				m := memtest.Fact(fmt.Sprintf("%d-%d", i, j), "content")
				m.CreatedAt = memtest.Epoch
				if err := tx.Put(m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := usage.New(st, time.UTC).Days(b.Context(), nil, "", ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		s := usage.New(st, time.UTC)
		if _, err := s.Days(b.Context(), nil, "", ""); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := s.Days(b.Context(), nil, "", ""); err != nil {
				b.Fatal(err)
			}
		}
	})
}
