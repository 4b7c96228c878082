package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
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

// model is the store as a map from what a thing is called to what it is; a thing that is not there has no key.
type model struct {
	things  map[string]string
	ops     []modelOp
	history map[string][]int64 // operations of each memory, oldest first
	first   int64              // oldest operation kept
}

type modelOp struct {
	op      int64
	space   string
	changes []modelChange
	key     string
	at      time.Time
	run     func(*store.Tx) error
}

// modelChange is what an operation did to one thing; "" is not there.
type modelChange struct{ thing, before, after string }

func (m *model) set(op *modelOp, thing, after string) {
	op.changes = append(op.changes, modelChange{thing, m.things[thing], after})
	m.put(thing, after)
}

func (m *model) put(thing, value string) {
	if value == "" {
		delete(m.things, thing)
	} else {
		m.things[thing] = value
	}
}

// done keeps an operation that was acknowledged.
func (m *model) done(op modelOp) {
	m.ops = append(m.ops, op)
	var seen []string
	for _, c := range op.changes {
		if strings.Contains(c.thing, "/memory/") && !slices.Contains(seen, c.thing) {
			seen = append(seen, c.thing)
			m.history[c.thing] = append(m.history[c.thing], op.op)
		}
	}
}

// undo is what undoing op does.
func (m *model) undo(op modelOp, inverse *modelOp) {
	for _, entries := range []bool{true, false} {
		for _, c := range slices.Backward(op.changes) {
			if entries == strings.Contains(c.thing, "/entry/") && m.things[c.thing] == c.after && c.before != c.after {
				m.set(inverse, c.thing, c.before)
			}
		}
	}
}

// machine runs the store and the model side by side.
type machine struct {
	fs    *crashfs.FS
	st    *store.Store
	clock memtest.Clock
	model
}

func (m *machine) open(t *rapid.T) {
	st, err := store.Open(store.Config{FS: m.fs, Now: m.clock.Now, Logger: slog.New(slog.DiscardHandler),
		SegmentSize: small, HistoryDays: 1, PackFrom: 2})
	if err != nil {
		t.Fatal(err)
	}
	m.st = st
}

var (
	anySpace = rapid.SampledFrom([]string{"default", "work"})
	anyID    = rapid.SampledFrom([]string{"a", "b", "c", "d"})
	anyText  = rapid.SampledFrom([]string{"one", "two", "三", "four " + strings.Repeat(".", 3000)})
	anyDate  = rapid.SampledFrom([]string{"2026-02-20", "2026-02-21"})
)

// write runs fn in a transaction; fn tells the model what it does.
func (m *machine) write(t *rapid.T, fn func(tx *store.Tx, op *modelOp) error) {
	m.clock.Advance(time.Second)
	things := maps.Clone(m.things)
	op := modelOp{space: anySpace.Draw(t, "space"), at: m.clock.Now()}
	if rapid.Bool().Draw(t, "keyed") {
		op.key = fmt.Sprint("key-", m.st.LSN())
	}
	op.run = func(tx *store.Tx) error { return fn(tx, &op) }
	res, err := m.st.Update(t.Context(), store.Meta{Space: op.space, Actor: journal.ActorClient, Key: op.key}, op.run)
	if err != nil {
		m.things = things
		t.Fatal(err)
	}
	op.op = res.Op
	if op.op == 0 && len(op.changes) > 0 {
		t.Fatal("something changed, but the operation has no number")
	}
	if op.op > 0 || op.key != "" {
		m.done(op)
	}
}

func normal(m *memory.Memory) string {
	c := *m
	c.Revision, c.UpdatedAt = 0, time.Time{}
	c.SetContentAt(time.Time{})
	c.SetAccesses(0, time.Time{})
	raw, _ := json.Marshal(&c)
	return string(raw)
}

// Change puts and removes several memories in one operation, some of them twice.
func (m *machine) Change(t *rapid.T) {
	n := rapid.IntRange(1, 6).Draw(t, "changes")
	m.write(t, func(tx *store.Tx, op *modelOp) error {
		for range n {
			id := anyID.Draw(t, "id")
			thing := op.space + "/memory/" + id
			old := tx.Memory(id)
			if old != nil && rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				tx.Remove(id)
				m.set(op, thing, "")
				continue
			}
			fact := memtest.Fact(id, anyText.Draw(t, "text"))
			if old != nil {
				fact = old.Clone()
				fact.Content, fact.Status = anyText.Draw(t, "text"),
					rapid.SampledFrom([]memory.Status{memory.Active, memory.Retired}).Draw(t, "status")
			}
			if err := tx.Put(fact); err != nil {
				return err
			}
			m.set(op, thing, normal(tx.Memory(id)))
		}
		return nil
	})
}

// Texts changes the rolling summary and what is forgotten.
func (m *machine) Texts(t *rapid.T) {
	text, forget := anyText.Draw(t, "summary"), anyText.Draw(t, "forgotten")
	back := rapid.Bool().Draw(t, "take back")
	m.write(t, func(tx *store.Tx, op *modelOp) error {
		if tx.Summary() != text {
			m.set(op, op.space+"/summary", text)
		}
		tx.SetSummary(text)
		thing := op.space + "/forgotten/" + forget
		if known := m.things[thing] != ""; known != tx.IsForgotten(forget) {
			return fmt.Errorf("%s: forgotten is %v", thing, !known)
		} else if known && back {
			m.set(op, thing, "")
		} else if !known && !back {
			m.set(op, thing, tx.Now().Format(time.RFC3339Nano))
		}
		if back {
			tx.Unforget(forget)
		} else {
			tx.Forget(forget)
		}
		return nil
	})
}

// Log appends to a day, describes it, or removes it.
func (m *machine) Log(t *rapid.T) {
	date := anyDate.Draw(t, "date")
	what := rapid.IntRange(0, 4).Draw(t, "what")
	m.write(t, func(tx *store.Tx, op *modelOp) error {
		day := op.space + "/day/" + date
		switch {
		case what < 3:
			id := fmt.Sprint("e", tx.LSN())
			m.set(op, op.space+"/entry/"+date+"/"+id, "finished "+id)
			return tx.AppendEntry(date, entry(id, tx.Now()))
		case what == 3 || tx.Day(date) == nil:
			text := anyText.Draw(t, "day")
			m.set(op, day, text)
			tx.SetDay(&memory.Day{Date: date, Summary: text})
			return nil
		}
		_, entries, err := m.st.Space(op.space).Log(date)
		if err != nil {
			return err
		}
		for _, e := range entries {
			m.set(op, op.space+"/entry/"+date+"/"+e.ID, "")
		}
		m.set(op, day, "")
		tx.LogDeleted(memory.Archived{Date: date, Entries: len(entries)})
		return tx.RemoveDay(tx.Day(date), entries)
	})
}

// Undo takes back any earlier operation, as far as nothing later is in its way.
func (m *machine) Undo(t *rapid.T) {
	if len(m.ops) == 0 {
		return
	}
	m.clock.Advance(time.Second)
	op := m.ops[len(m.ops)-1]
	if rapid.Bool().Draw(t, "older") {
		op = rapid.SampledFrom(m.ops).Draw(t, "op")
	}
	if op.op == 0 {
		return
	}
	inverse := modelOp{space: op.space, at: m.clock.Now()}
	res, err := m.st.Undo(t.Context(), store.Meta{}, op.op)
	if op.op < m.first {
		if !errors.Is(err, memory.ErrTrimmed) {
			t.Fatalf("undo of %d, which is no longer kept: %v", op.op, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("undo of %d: %v", op.op, err)
	}
	m.undo(op, &inverse)
	if inverse.op = res.Op; inverse.op > 0 {
		m.done(inverse)
	}
}

// Repeat sends a request a second time.
func (m *machine) Repeat(t *rapid.T) {
	i := slices.IndexFunc(m.ops, func(op modelOp) bool {
		return op.key != "" && m.clock.Now().Sub(op.at) < 23*time.Hour
	})
	if i < 0 {
		return
	}
	op := m.ops[i]
	res, err := m.st.Update(t.Context(), store.Meta{Space: op.space, Actor: journal.ActorClient, Key: op.key}, op.run)
	if err != nil || !res.Replayed || res.Op != op.op {
		t.Fatalf("repeated %q: %+v %v, want operation %d", op.key, res, err, op.op)
	}
	_, err = m.st.Update(t.Context(), store.Meta{Space: op.space, Actor: journal.ActorClient, Key: op.key,
		Request: []byte("another")}, op.run)
	if !errors.Is(err, memory.ErrKeyReused) {
		t.Fatalf("%q for another request: %v", op.key, err)
	}
}

func (m *machine) Checkpoint(t *rapid.T) {
	if _, err := m.st.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) Trim(t *rapid.T) {
	m.clock.Advance(time.Duration(rapid.IntRange(0, 30).Draw(t, "hours")) * time.Hour)
	if err := m.st.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.first = m.st.LSN() + 1
	for rec, err := range m.st.Operations(t.Context(), 1, math.MaxInt64) {
		if err != nil {
			t.Fatal(err)
		}
		m.first = rec.Op
		break
	}
}

// Restart ends the store in some way and opens it again.
func (m *machine) Restart(t *rapid.T) {
	before, err := m.st.Digest()
	if err != nil {
		t.Fatal(err)
	}
	variant := crashfs.CrashMode(rapid.IntRange(0, 3).Draw(t, "how"))
	if variant > crashfs.Torn {
		if err := m.st.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		variant = crashfs.Lost
	}
	m.fs = m.fs.Crash(variant, rand.New(rand.NewPCG(uint64(m.st.LSN()), 1)))
	m.open(t)
	after, err := m.st.Digest()
	if err != nil || after != before {
		t.Fatalf("another state after a restart: %v", err)
	}
	if err := check(m.fs, m.st.LSN(), after); err != nil {
		t.Fatal(err)
	}
}

// Check compares the store with the model.
func (m *machine) Check(t *rapid.T) {
	got := map[string]string{}
	for _, space := range m.st.Spaces() {
		v := m.st.Space(space)
		for _, mem := range v.Memories() {
			got[space+"/memory/"+mem.ID] = normal(mem)
			m.checkHistory(t, space, mem.ID)
		}
		if s := v.Summary(); s != "" {
			got[space+"/summary"] = s
		}
		for _, d := range v.Days() {
			if d.Summary != "" {
				got[space+"/day/"+d.Date] = d.Summary
			} else if d.Entries == 0 {
				t.Fatalf("%s: the log of %s is there without anything in it", space, d.Date)
			}
			_, entries, err := v.Log(d.Date)
			if err != nil || len(entries) != d.Entries {
				t.Fatalf("log %s: %d entries, header says %d: %v", d.Date, len(entries), d.Entries, err)
			}
			for _, e := range entries {
				got[space+"/entry/"+d.Date+"/"+e.ID] = e.Content
			}
		}
	}
	want := maps.Clone(m.things)
	maps.DeleteFunc(want, func(thing, _ string) bool { return strings.Contains(thing, "/forgotten/") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("store and model differ (-model +store):\n%s", diff)
	}
}

func (m *machine) checkHistory(t *rapid.T, space, id string) {
	var got []int64
	recs, err := m.st.History(t.Context(), space, id, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		got = append(got, rec.Op)
	}
	slices.Reverse(got)
	var want []int64
	for _, op := range m.history[space+"/memory/"+id] {
		if op >= m.first {
			want = append(want, op)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("history of %s/%s (-model +store):\n%s", space, id, diff)
	}
}

// TestModel runs random operations, undos, repeats, restarts, checkpoints and trims against a map.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{fs: crashfs.New(), model: model{things: map[string]string{}, history: map[string][]int64{},
			first: 1}}
		m.open(t)
		t.Repeat(map[string]func(*rapid.T){
			"change": m.Change, "texts": m.Texts, "log": m.Log, "undo": m.Undo, "repeat": m.Repeat,
			"checkpoint": m.Checkpoint, "trim": m.Trim, "restart": m.Restart, "": m.Check,
		})
	})
}
