package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

var bothSpaces = []string{memory.DefaultSpace, "work"}

var anyDates = []string{"2026-02-20", "2026-02-21"}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func describe(memories map[string]*memory.Memory, summary string, forgotten map[string]time.Time) map[string]string {
	out := map[string]string{"summary": summary}
	for id, m := range memories {
		out["memory "+id] = text(m)
	}
	for hash, at := range forgotten {
		out["forgotten "+hash] = at.String()
	}
	return out
}

func describeDay(out map[string]string, day *memory.Day, entries []*memory.Entry) {
	if day.Entries == 0 && day.Summary == "" && !day.Archived && len(day.Extra) == 0 {
		return
	}
	d := *day
	d.Revision = 0
	out["day "+day.Date] = text(d)
	for _, e := range entries {
		out["entry "+day.Date+" "+e.ID] = text(e)
	}
}

// rememberer runs random operations and remembers the state after each.
type rememberer struct {
	fs     *crashfs.FS
	st     *store.Store
	clock  memtest.Clock
	states map[int64]map[string]map[string]string // by operation and space
	ops    []int64
	newIDs int
}

func (r *rememberer) open(t *rapid.T) {
	st, err := store.Open(store.Config{FS: r.fs, Now: r.clock.Now, Logger: slog.New(slog.DiscardHandler),
		SegmentSize: small})
	if err != nil {
		t.Fatal(err)
	}
	r.st = st
}

func (r *rememberer) remember(t *rapid.T, op int64) {
	if op == 0 {
		return
	}
	states := map[string]map[string]string{}
	for _, space := range bothSpaces {
		v := r.st.Space(space)
		memories := map[string]*memory.Memory{}
		for _, m := range v.Memories() {
			memories[m.ID] = m
		}
		out := describe(memories, v.Summary(), v.Forgotten())
		for _, day := range v.Days() {
			_, entries, err := v.Log(day.Date)
			if err != nil {
				t.Fatal(err)
			}
			describeDay(out, day, entries)
		}
		states[space] = out
	}
	r.states[op], r.ops = states, append(r.ops, op)
}

func (r *rememberer) write(t *rapid.T, fn func(tx *store.Tx, v *store.Space) error) {
	r.clock.Advance(time.Second)
	space := rapid.SampledFrom(bothSpaces).Draw(t, "space")
	res, err := r.st.Update(t.Context(), store.Meta{Space: space, Actor: journal.ActorClient},
		func(tx *store.Tx) error {
			return fn(tx, r.st.Space(space))
		})
	if err != nil {
		t.Fatal(err)
	}
	r.remember(t, res.Op)
}

func (r *rememberer) Memories(t *rapid.T) {
	n := rapid.IntRange(1, 5).Draw(t, "changes")
	r.write(t, func(tx *store.Tx, _ *store.Space) error {
		for range n {
			id := anyID.Draw(t, "id")
			old := tx.Memory(id)
			content := anyText.Draw(t, "text")
			switch what := rapid.IntRange(0, 4).Draw(t, "what"); {
			case old == nil:
				m := memtest.Fact(id, content)
				if rapid.Bool().Draw(t, "accessed") {
					m.SetAccesses(7, memtest.Epoch.Add(-time.Hour))
				}
				if err := tx.Put(m); err != nil {
					return err
				}
			case what == 0:
				tx.Remove(id)
			default:
				m := old.Clone()
				m.Status = []memory.Status{memory.Active, memory.Active, memory.Retired, memory.Active,
					memory.Superseded}[what]
				m.Content = content
				if what == 2 {
					tx.Forget(content)
				} else {
					tx.Unforget(content)
				}
				if err := tx.Put(m); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (r *rememberer) Touch(t *rapid.T) {
	r.clock.Advance(time.Second)
	ids := rapid.SliceOfN(anyID, 1, 3).Draw(t, "ids")
	// Accesses of another time zone, and some that are older than what is known.
	at := r.clock.Now().Add(-time.Duration(rapid.IntRange(0, 3).Draw(t, "late")) * time.Minute)
	r.st.CountAccess(rapid.SampledFrom(bothSpaces).Draw(t, "space"), ids, at)
	before := r.st.LSN()
	if err := r.st.FlushAccesses(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := r.st.LSN(); now > before {
		r.remember(t, now)
	}
}

func (r *rememberer) Summary(t *rapid.T) {
	s := anyText.Draw(t, "summary")
	r.write(t, func(tx *store.Tx, _ *store.Space) error { tx.SetSummary(s); return nil })
}

func (r *rememberer) Forgotten(t *rapid.T) {
	hash := rapid.SampledFrom([]string{"x:1", "x:2"}).Draw(t, "hash")
	at := rapid.SampledFrom([]time.Time{{}, memtest.Epoch, memtest.Epoch.Add(time.Hour)}).Draw(t, "at")
	r.write(t, func(tx *store.Tx, _ *store.Space) error { tx.SetForgotten(hash, at); return nil })
}

func (r *rememberer) Log(t *rapid.T) {
	date := rapid.SampledFrom(anyDates).Draw(t, "date")
	what := rapid.IntRange(0, 6).Draw(t, "what")
	n := rapid.IntRange(1, 4).Draw(t, "entries")
	r.write(t, func(tx *store.Tx, v *store.Space) error {
		day := tx.Day(date)
		switch {
		case what == 3:
			tx.SetDay(&memory.Day{Date: date, Summary: anyText.Draw(t, "day"),
				Archived: rapid.Bool().Draw(t, "archived")})
			return nil
		case what < 3 || day == nil:
			for range n {
				r.newIDs++
				if err := tx.AppendEntry(date, entry(fmt.Sprint("e", r.newIDs), tx.Now())); err != nil {
					return err
				}
			}
			return nil
		}
		_, entries, err := v.Log(date)
		if err != nil {
			return err
		}
		if what == 4 {
			return tx.RemoveDay(day, entries)
		}
		if err := tx.CheckDayRevision(date, day.Revision); err != nil {
			return err
		}
		for i, e := range entries {
			after := *e
			after.Content = anyText.Draw(t, "content")
			if err := tx.ChangeEntry(date, e, []*memory.Entry{&after, nil, e}[i%3]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *rememberer) Undo(t *rapid.T) {
	if len(r.ops) == 0 {
		return
	}
	r.clock.Advance(time.Second)
	op := r.ops[len(r.ops)-1]
	if rapid.Bool().Draw(t, "older") {
		op = rapid.SampledFrom(r.ops).Draw(t, "op")
	}
	res, err := r.st.Undo(t.Context(), store.Meta{}, op)
	if err != nil && !errors.Is(err, memory.ErrNotUndoable) {
		t.Fatal(err)
	}
	r.remember(t, res.Op)
}

func (r *rememberer) Restart(t *rapid.T) {
	if rapid.Bool().Draw(t, "checkpoint") {
		if _, err := r.st.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.fs = r.fs.Crash(crashfs.Lost, rand.New(rand.NewPCG(uint64(r.st.LSN()), 1)))
	r.open(t)
}

// compare rebuilds the state after an operation and requires that it is the one remembered.
func (r *rememberer) compare(t *rapid.T, op int64) {
	for _, space := range bothSpaces {
		p, err := r.st.StateAt(t.Context(), space, op)
		if err != nil {
			t.Fatal(err)
		}
		got := describe(p.Memories, p.Summary, p.Forgotten)
		for _, date := range anyDates {
			day, entries, err := r.st.LogAt(t.Context(), space, date, op)
			if errors.Is(err, memory.ErrNotFound) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			describeDay(got, day, entries)
		}
		if diff := cmp.Diff(r.states[op][space], got); diff != "" {
			t.Fatalf("space %s after operation %d of %d (-remembered +rebuilt):\n%s", space, op, r.st.LSN(), diff)
		}
	}
}

// TestPast rebuilds the states after operations of random runs and compares them with what was remembered of them.
func TestPast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &rememberer{fs: crashfs.New(), states: map[int64]map[string]map[string]string{}}
		r.open(t)
		t.Repeat(map[string]func(*rapid.T){
			"memories": r.Memories, "more memories": r.Memories, "touch": r.Touch, "more touches": r.Touch,
			"summary":   r.Summary,
			"forgotten": r.Forgotten, "log": r.Log, "undo": r.Undo, "restart": r.Restart,
		})
		for i, op := range r.ops {
			if i%3 == len(r.ops)%3 {
				r.compare(t, op)
			}
		}
	})
}

func TestPastBeyondHistory(t *testing.T) {
	clock := memtest.Clock{}
	st, err := store.Open(store.Config{FS: crashfs.New(), Now: clock.Now, Logger: slog.New(slog.DiscardHandler),
		SegmentSize: small, HistoryDays: 1})
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string) {
		t.Helper()
		_, err := st.Update(t.Context(), store.Meta{Actor: journal.ActorClient}, func(tx *store.Tx) error {
			return tx.Put(memtest.Fact(id, strings.Repeat(id+" ", 1000)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		put(fmt.Sprint("m", i))
	}
	if p, err := st.StateAt(t.Context(), "", 0); err != nil || len(p.Memories) > 0 {
		t.Fatalf("before the first operation: %v, %v", p, err)
	}
	for range 2 {
		if _, err := st.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		put("later")
	}
	clock.Advance(72 * time.Hour)
	if err := st.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := st.StateAt(t.Context(), "", 1); !errors.Is(err, memory.ErrTrimmed) {
		t.Errorf("Past of a trimmed operation: %v", err)
	}
	if _, _, err := st.LogAt(t.Context(), "", "2026-02-20", 1); !errors.Is(err, memory.ErrTrimmed) {
		t.Errorf("PastLog of a trimmed operation: %v", err)
	}
	if _, err := st.StateAt(t.Context(), "", st.LSN()+1); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("Past of an operation to come: %v", err)
	}
	if p, err := st.StateAt(t.Context(), "", st.LSN()); err != nil || len(p.Memories) != 21 {
		t.Errorf("Past of the newest operation: %v", err)
	}
}
