package store

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/store/journal"
)

// fact is a memory whose content is one of few, so that many are equal.
func fact(id string, content int) *memory.Memory {
	return &memory.Memory{ID: id, Content: fmt.Sprint("fact ", content), Category: memory.Facts, Status: memory.Active}
}

func changed(op int64, id string, after *memory.Memory) *journal.Record {
	return &journal.Record{LSN: op, Op: op, Space: "work", At: time.Unix(op, 0),
		Changes: []journal.Change{{Memory: &journal.MemoryChange{ID: id, After: after}}}}
}

// TestStagedSpace: whatever happened to a space, its staged state has the same memories, knows the contents that are
// there, and changes nothing of the visible state.
func TestStagedSpace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &Store{visible: newVisible(), staged: newStaged()}
		want, op := map[string]*memory.Memory{}, int64(0)
		most := rapid.SampledFrom([]int{3, fewSlots + 3, 3 * fewSlots}).Draw(t, "ids")
		for range rapid.IntRange(0, 3*most).Draw(t, "changes") {
			op++
			id := fmt.Sprint("m", rapid.IntRange(0, most-1).Draw(t, "id"))
			if rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				delete(want, id)
				s.visible.apply(changed(op, id, nil))
				continue
			}
			want[id] = fact(id, rapid.IntRange(0, most).Draw(t, "content"))
			s.visible.apply(changed(op, id, want[id]))
		}
		s.visible.apply(&journal.Record{LSN: op + 1, Op: op + 1, Space: "work", At: time.Unix(op+1, 0),
			Receipt: &journal.Receipt{Key: "key"},
			Changes: []journal.Change{{Summary: &journal.SummaryChange{After: "all"}}}})
		sp, err := s.stagedSpace("work")
		if err != nil {
			t.Error(err)
		}
		check := func(what string, sp *spaceState) {
			got := map[string]*memory.Memory{}
			for _, m := range sp.memories() {
				got[m.ID] = m
			}
			if diff := cmp.Diff(want, got); diff != "" || sp.count() != len(want) {
				t.Fatalf("%s has %d memories (-want +got):\n%s", what, sp.count(), diff)
			}
			for i := range most {
				if id := fmt.Sprint("m", i); sp.memory(id) != want[id] {
					t.Fatalf("%s: %s is %v; want %v", what, id, sp.memory(id), want[id])
				}
			}
		}
		check("visible", s.visible.spaces["work"])
		check("staged", sp)
		if _, known := sp.receipt("key", time.Unix(op+2, 0)); !known || sp.summary != "all" || sp.changed != op+1 {
			t.Fatalf("staged has receipt %v, summary %q, is of %d", known, sp.summary, sp.changed)
		}
		tx := &Tx{space: sp}
		for content := range most + 1 {
			there := slices.ContainsFunc(slices.Collect(maps.Values(want)), func(m *memory.Memory) bool {
				return m.Content == fact("", content).Content
			})
			if found := tx.Equal(memory.Facts, fact("", content).Content); (found != nil) != there {
				t.Fatalf("content %d: found %v; is there: %v", content, found, there)
			}
		}
		for id := range want {
			s.staged.apply(changed(op+2, id, nil))
		}
		s.staged.apply(changed(op+3, "new", fact("new", 1)))
		check("visible after staged changes", s.visible.spaces["work"])
	})
}

// TestLargeSpacesAreStagedAtOpen: nobody waits for the staged state of a large space.
func TestLargeSpacesAreStagedAtOpen(t *testing.T) {
	s := &Store{visible: newVisible(), staged: newStaged()}
	for i := range stageWhenUsed + 1 {
		id := fmt.Sprint("m", i)
		s.visible.apply(changed(int64(i+1), id, fact(id, i)))
	}
	if err := s.stageLarge(); err != nil {
		t.Fatal(err)
	}
	if s.staged.spaces["work"] == nil || s.staged.spaces[memory.DefaultSpace] != nil {
		t.Errorf("staged are %v; want the large space alone", slices.Collect(maps.Keys(s.staged.spaces)))
	}
}
