package merge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

var epoch = time.Date(2026, 2, 21, 10, 30, 0, 0, time.UTC)

// machine is a model of a machine: its state is the log up to its position, with its waiting operations on top.
type machine struct {
	log     Values
	local   Values
	at      int
	waiting [][]journal.Change
}

// TestRandomMachines has machines change a few memories at random, send and receive in any order, and checks that those
// at the same position hold the same.
func TestRandomMachines(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		machines := make([]*machine, 3)
		for i := range machines {
			machines[i] = &machine{}
		}
		var log [][]Change
		for step := range 80 {
			m := machines[rng.IntN(len(machines))]
			switch rng.IntN(3) {
			case 0:
				m.write(rng, step)
			case 1:
				m.receive(log)
			case 2:
				m.receive(log)
				log = m.send(log)
			}
		}
		for _, m := range machines {
			m.receive(log)
			log = m.send(log)
		}
		for i, m := range machines {
			m.receive(log)
			if len(m.waiting) > 0 || !equal(m.local, machines[0].local) || !equal(m.local, m.log) {
				t.Fatalf("seed %d: machine %d holds %v, machine 0 %v, the log %v", seed, i, show(m.local), show(machines[0].local), show(m.log))
			}
		}
	}
}

// write makes a random operation.
func (m *machine) write(rng *rand.Rand, step int) {
	id := fmt.Sprint("m", rng.IntN(3))
	before := m.local.Memories[id]
	after := &memory.Memory{ID: id, Category: "facts", Status: memory.Active, CreatedAt: epoch}
	if before != nil {
		after = before.Clone()
	}
	switch n := rng.IntN(6); {
	case n < 2 || before == nil:
		after.Content, after.Status = fmt.Sprint("text ", step), memory.Active
	case n == 2:
		after.Status = memory.Retired
	case n == 3:
		after.Tags = append(slices.Clone(after.Tags), fmt.Sprint("t", step))
	case n == 4:
		after.SetAccesses(after.AccessCount()+1, after.LastAccessed())
	default:
		after = nil
	}
	op := []journal.Change{{Memory: &journal.MemoryChange{ID: id, Before: before, After: after}}}
	m.waiting = append(m.waiting, op)
	m.local.SetMemory(id, after)
}

// receive applies the rows of others below what waits.
func (m *machine) receive(log [][]Change) {
	for ; m.at < len(log); m.at++ {
		m.log.Apply(log[m.at])
	}
	m.local = m.log.Clone()
	for _, op := range m.waiting {
		_, _ = m.local.Rebase(op, nil)
	}
}

// send appends what waits.
func (m *machine) send(log [][]Change) [][]Change {
	for _, op := range m.waiting {
		changes, _ := m.log.Rebase(op, nil)
		log = append(log, changes)
		m.at++
	}
	m.waiting = nil
	return log
}

func equal(a, b Values) bool {
	for _, id := range []string{"m0", "m1", "m2"} {
		if !Same(a.Memories[id], b.Memories[id]) {
			return false
		}
	}
	return true
}

func show(v Values) (out []string) {
	for _, id := range []string{"m0", "m1", "m2"} {
		out = append(out, fmt.Sprintf("%s:%+v", id, v.Memories[id]))
	}
	return out
}

// TestRebase lists what two changes of one memory become.
func TestRebase(t *testing.T) {
	with := func(change func(*memory.Memory)) *memory.Memory {
		m := &memory.Memory{ID: "m", Category: "facts", Content: "old", Status: memory.Active, CreatedAt: epoch, Tags: []string{"x", "y"},
			More: &memory.More{AccessCount: 2}}
		change(m)
		return m
	}
	base := with(func(*memory.Memory) {})
	for _, tt := range []struct {
		name         string
		mine, theirs *memory.Memory
		want         *memory.Memory
		conflict     ConflictKind
	}{
		{"other fields", with(func(m *memory.Memory) { m.Pinned = true }), with(func(m *memory.Memory) { m.Content = "new" }),
			with(func(m *memory.Memory) { m.Pinned, m.Content = true, "new" }), ""},
		{"one text", with(func(m *memory.Memory) { m.Content = "mine" }), with(func(m *memory.Memory) { m.Content = "theirs" }),
			with(func(m *memory.Memory) { m.Content = "mine" }), BothChanged},
		{"the same text", with(func(m *memory.Memory) { m.Content = "new" }), with(func(m *memory.Memory) { m.Content = "new" }),
			with(func(m *memory.Memory) { m.Content = "new" }), ""},
		{"sets", with(func(m *memory.Memory) { m.Tags = []string{"x", "mine"} }), with(func(m *memory.Memory) { m.Tags = []string{"y", "theirs"} }),
			with(func(m *memory.Memory) { m.Tags = []string{"theirs", "mine"} }), ""},
		{"accesses", with(func(m *memory.Memory) { m.SetAccesses(5, m.LastAccessed()) }), with(func(m *memory.Memory) { m.SetAccesses(4, m.LastAccessed()) }),
			with(func(m *memory.Memory) { m.SetAccesses(7, m.LastAccessed()) }), ""},
		{"mine retired, theirs changed", with(func(m *memory.Memory) { m.Status = memory.Retired }), with(func(m *memory.Memory) { m.Content = "new" }),
			with(func(m *memory.Memory) { m.Content = "new" }), ChangedRetired},
		{"mine changed, theirs retired", with(func(m *memory.Memory) { m.Content = "new" }), with(func(m *memory.Memory) { m.Status = memory.Retired }),
			with(func(m *memory.Memory) { m.Content = "new" }), ChangedRetired},
		{"mine tagged, theirs retired", with(func(m *memory.Memory) { m.Tags = []string{"x", "y", "z"} }), with(func(m *memory.Memory) { m.Status = memory.Retired }),
			with(func(m *memory.Memory) { m.Status, m.Tags = memory.Retired, []string{"x", "y", "z"} }), ""},
		{"mine removed, theirs not changed", nil, base, nil, ""},
		{"mine removed, theirs changed", nil, with(func(m *memory.Memory) { m.Content = "new" }), with(func(m *memory.Memory) { m.Content = "new" }), ""},
		{"mine changed, theirs removed", with(func(m *memory.Memory) { m.Content = "new" }), nil, with(func(m *memory.Memory) { m.Content = "new" }), ""},
	} {
		got, conflict := rebase(base, tt.mine, tt.theirs)
		kind := ConflictKind("")
		if conflict != nil {
			kind = conflict.Kind
		}
		if !Same(got, tt.want) || kind != tt.conflict {
			t.Errorf("%s: %+v, conflict %q; want %+v, %q", tt.name, got, kind, tt.want, tt.conflict)
		}
	}
}

// TestReadPart: what is read quickly is what encoding/json reads, all else is left to it, and texts are of what is
// valid.
func TestReadPart(t *testing.T) {
	v := Values{}
	for i, content := range []string{"plain", "a \"quoted\" line\n", "a <tag>", strings.Repeat("x", memory.MaxContent+1)} {
		v.SetMemory(fmt.Sprint("m", i), &memory.Memory{ID: fmt.Sprint("m", i), Category: memory.Facts, Content: content,
			CreatedAt: epoch.Add(time.Duration(-i) * time.Hour), Tags: []string{"x"}, Source: memory.SourceUser})
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	part, err := ReadPart(raw)
	if err != nil {
		t.Fatal(err)
	}
	got := Join(&part)
	listed := got.Received()
	got.Index()
	if diff := cmp.Diff(listed, got.Received()); diff != "" {
		t.Errorf("listed without a map (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(v.Memories, got.Memories); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var order []string
	for _, r := range got.Received() {
		order = append(order, fmt.Sprint(r.ID, " ", r.Text != nil))
	}
	if diff := cmp.Diff([]string{"m3 false", "m2 false", "m1 true", "m0 true"}, order); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
	// What rows change is not what the snapshot has.
	got.Apply([]Change{{Access: &AccessValue{ID: "m1", Count: 3}}, {Memory: &MemoryValue{ID: "m2"}},
		{Memory: &MemoryValue{ID: "m9", Value: &memory.Memory{ID: "m9", CreatedAt: epoch}}}})
	order = nil
	for _, r := range got.Received() {
		order = append(order, fmt.Sprint(r.ID, " ", r.Text != nil))
	}
	if diff := cmp.Diff([]string{"m3 false", "m0 true", "m1 false", "m9 false"}, order); diff != "" {
		t.Errorf("received behind rows (-want +got):\n%s", diff)
	}
	for _, text := range []string{`{}`, `{"memories":{},"summary":"s"}`, `{"memories":{"m":null}}`, `{"forgotten":{}}`, `{"memories": {}}`} {
		if _, err := ReadPart([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{``, `{"memories":{}`, `{"memories":{}}x`, `{"memories":{},"new":1}`, `{"memories":{"m":{"new":1}}}`} {
		if p, err := ReadPart([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, p)
		}
	}
}
