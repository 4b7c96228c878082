package store_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// watch is a wall clock, and one that nobody sets.
type watch struct{ wall, elapsed time.Duration }

func (w *watch) run(d time.Duration) { w.wall, w.elapsed = w.wall+d, w.elapsed+d }

// TestClockWarning plays what happens to a clock; the last word of each case is whether it is trusted at the end.
func TestClockWarning(t *testing.T) {
	const hour, day = time.Hour, 24 * time.Hour
	type do struct {
		run   time.Duration // pass time
		set   time.Duration // step the wall clock
		write bool          // a record
		start bool          // stop and start the daemon; time may pass in between
		look  bool          // ask
	}
	for _, tt := range []struct {
		name  string
		steps []do
		doubt bool
	}{
		{"a new store", nil, false},
		{"runs evenly for a year", []do{{write: true}, {look: true}, {run: 365 * day}}, false},
		{"sleeps for a month while it runs", []do{{write: true}, {look: true}, {run: 30 * day}}, false},
		{"set by an hour", []do{{look: true}, {run: hour, set: hour}}, false},
		{"forward by two hours", []do{{look: true}, {run: hour, set: 2 * hour}}, true},
		{"backward by two hours", []do{{look: true}, {run: hour, set: -2 * hour}}, true},
		{"forward and set right", []do{{look: true}, {set: 40 * day}, {look: true}, {run: hour, set: -40 * day}},
			false},
		{"forward and set nearly right", []do{{look: true}, {set: 40 * day}, {look: true}, {set: -40*day + hour/2}},
			false},
		{"forward and not set right for 23 hours", []do{{look: true}, {set: 40 * day}, {look: true}, {run: 23 * hour}},
			true},
		{"forward and not set right for a day", []do{{look: true}, {set: 40 * day}, {look: true}, {run: day}}, false},
		{"forward twice", []do{{look: true}, {set: 40 * day}, {look: true}, {run: 23 * hour}, {set: day}, {look: true},
			{run: 2 * hour}}, true},
		{"ten years back", []do{{look: true}, {set: -3652 * day}, {look: true}, {run: 5 * hour}}, true},
		{"started after six days", []do{{write: true}, {start: true, run: 6 * day}}, false},
		{"started after eight days", []do{{write: true}, {start: true, run: 8 * day}}, true},
		{"started after eight days, a day ago",
			[]do{{write: true}, {start: true, run: 8 * day}, {look: true}, {run: day}}, false},
		{"started before the newest record", []do{{write: true}, {start: true, set: -2 * hour}}, true},
		{"started a little before the newest record", []do{{write: true}, {start: true, set: -hour / 2}}, false},
		{"started while it is wrong, after a write",
			[]do{{write: true}, {look: true}, {set: 3652 * day}, {look: true}, {write: true}, {start: true, run: hour}},
			true},
		{"set right while stopped, after a write",
			[]do{{write: true}, {set: 3652 * day}, {write: true}, {start: true, run: hour, set: -3652 * day}}, true},
		{"and a day later, after another start", []do{
			{write: true}, {set: 3652 * day}, {write: true}, {start: true, run: hour, set: -3652 * day}, {write: true},
			{run: 25 * hour}, {start: true},
		}, false},
		{"and an hour later, after another start", []do{
			{write: true}, {set: 3652 * day}, {write: true}, {start: true, run: hour, set: -3652 * day}, {write: true},
			{run: hour}, {start: true},
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, fsys := &watch{}, crashfs.New()
			var st *store.Store
			open := func() {
				var err error
				st, err = store.Open(store.Config{
					FS: fsys, Logger: slog.New(slog.DiscardHandler), Elapsed: func() time.Duration { return w.elapsed },
					Now: func() time.Time { return time.Date(2026, 2, 21, 10, 0, 0, 0, time.UTC).Add(w.wall) },
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			doubt := func() string {
				d, err := st.ClockWarning(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			open()
			for _, s := range tt.steps {
				if s.start {
					if err := st.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				w.run(s.run)
				w.wall += s.set
				if s.start {
					open()
				}
				if s.look {
					doubt()
				}
				if s.write {
					_, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
						return tx.AppendEntry("2026-02-21", &memory.Entry{Type: memory.EntryEvent, Content: "x"})
					})
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			if d := doubt(); (d != "") != tt.doubt {
				t.Errorf("in doubt: %v, want %v: %q", d != "", tt.doubt, d)
			}
			_ = st.Close(t.Context())
		})
	}
}

// TestTrimWaitsForTheClock: history is not trimmed by a clock that jumped, and is once the clock has proved itself.
func TestTrimWaitsForTheClock(t *testing.T) {
	w := &watch{}
	st, err := store.Open(store.Config{
		FS: crashfs.New(), Logger: slog.New(slog.DiscardHandler), SegmentSize: 4096, HistoryDays: 30,
		Elapsed: func() time.Duration { return w.elapsed },
		Now:     func() time.Time { return time.Date(2026, 2, 21, 10, 0, 0, 0, time.UTC).Add(w.wall) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for range 60 {
			_, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
				return tx.AppendEntry("2026-02-21",
					&memory.Entry{Type: memory.EntryEvent, Content: "what happened on that day, at length"})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := st.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first := func() int64 {
		for rec, err := range st.Operations(t.Context(), 1, st.LSN()) {
			if err != nil {
				t.Fatal(err)
			}
			return rec.Op
		}
		return 0
	}
	trim := func(want bool, when string) {
		t.Helper()
		if err := st.Trim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := first() > 1; got != want {
			t.Errorf("%s: trimmed: %v, want %v", when, got, want)
		}
	}
	trim(false, "fresh")
	w.wall += 40 * 24 * time.Hour
	trim(false, "after a jump")
	w.run(23 * time.Hour)
	trim(false, "after 23 hours")
	w.run(time.Hour)
	trim(true, "after a day")
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
