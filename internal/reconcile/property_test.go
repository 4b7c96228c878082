package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// deed is one thing that one side did: it set a field, removed a memory (field "") or added one (field "new").
type deed struct{ id, field, value string }

var someField = rapid.SampledFrom([]string{"content", "title", "category"})

func fieldOf(m *memory.Memory, name string) string {
	switch name {
	case "content", "new":
		return m.Content
	case "title":
		return m.Title
	}
	return m.Category
}

// someDeeds draws what one side does to the memories of ids: at most one deed for each thing, none to a memory
// after it is removed.
func someDeeds(t *rapid.T, who string, ids []string) (deeds []deed) {
	removed := map[string]bool{}
	for i := range rapid.IntRange(0, 6).Draw(t, who+" deeds") {
		id := rapid.SampledFrom(ids).Draw(t, who+" id")
		value := fmt.Sprintf("%s%d", who, i)
		switch what := rapid.IntRange(0, 5).Draw(t, who+" what"); {
		case what == 0:
			deeds = append(deeds, deed{who + id, "new", value})
		case removed[id]:
		case what == 1:
			removed[id] = true
			deeds = slices.DeleteFunc(deeds, func(d deed) bool { return d.id == id })
			deeds = append(deeds, deed{id, "", ""})
		default:
			f := someField.Draw(t, who+" field")
			deeds = slices.DeleteFunc(deeds, func(d deed) bool { return d.id == id && d.field == f })
			deeds = append(deeds, deed{id, f, value})
		}
	}
	// A thing is added once.
	seen := map[string]bool{}
	return slices.DeleteFunc(deeds, func(d deed) bool {
		again := d.field == "new" && seen[d.id]
		seen[d.id] = true
		return again
	})
}

func (d deed) byDaemon(tx *store.Tx) error {
	if d.field == "new" {
		return tx.Put(memtest.Fact(d.id, d.value))
	}
	m := tx.Memory(d.id).Clone()
	switch d.field {
	case "":
		m.Status = memory.Retired
	case "content":
		m.Content = d.value
	case "title":
		m.Title = d.value
	case "category":
		m.Category = d.value
	}
	return tx.Put(m)
}

func (d deed) byHand(doc map[string]any) {
	switch d.field {
	case "":
		without(doc, "memories", d.id)
	case "new":
		doc["memories"] = append(doc["memories"].([]any), map[string]any{"id": d.id, "content": d.value, "category": "facts"})
	default:
		for _, m := range memoriesOf(doc) {
			if m["id"] == d.id {
				m[d.field] = d.value
			}
		}
	}
}

// TestNothingIsLost lets a person and the daemon do random things at the same time. Whatever either did is in the
// state afterwards, in the before-image of the operation that took the edit over, or in the record of an edit that
// waits.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, fs: crashfs.New(), clock: &memtest.Clock{}}
		must(t, w.open())
		var ids []string
		for i := range rapid.IntRange(2, 8).Draw(t, "memories") {
			ids = append(ids, fmt.Sprint("m", i))
			w.add(ids[i], fmt.Sprint("base ", i))
		}
		w.publish()
		text := w.read(file)
		daemon, person := someDeeds(t, "d", ids), someDeeds(t, "p", ids)
		for _, d := range daemon {
			w.update(d.byDaemon)
		}
		// A program that drops what it does not know must have read what was published last.
		oldTool := rapid.Bool().Draw(t, "old tool")
		if !oldTool && rapid.Bool().Draw(t, "published in between") {
			w.publish()
		}
		change := func(doc map[string]any) {
			for _, d := range person {
				d.byHand(doc)
			}
		}
		before := w.state()
		if oldTool {
			w.write(file, old(t, text, change))
		} else {
			w.write(file, rewritten(t, text, change))
		}
		w.look()
		waiting := strings.Join(w.waiting(), "\n")
		if strings.Contains(waiting, "refused") {
			t.Fatalf("refused: %s", waiting)
		}
		w.checkPerson(t, person, waiting)
		if !strings.Contains(waiting, "ambiguous") {
			w.checkDaemon(t, daemon)
		}
		ops, _ := w.ops()
		if len(ops) > 1 {
			t.Fatalf("%d operations", len(ops))
		}
		lsn := w.store.LSN()
		w.look()
		w.publish()
		w.look()
		if w.store.LSN() != lsn {
			t.Fatal("looking again changed something")
		}
		if len(ops) == 1 {
			_, err := w.store.Undo(t.Context(), store.Meta{}, ops[0])
			must(t, err)
		}
		diff(t, "state after undo", before, w.state())
	})
}

func (w *world) checkPerson(t *rapid.T, deeds []deed, waiting string) {
	t.Helper()
	for _, d := range deeds {
		m, err := w.store.Space("").Get(d.id)
		switch recorded := strings.Contains(waiting, "memory "+d.id+": ") || strings.Contains(waiting, "ambiguous"); {
		case recorded:
		case err != nil:
			t.Fatalf("%v of the person: %v", d, err)
		case d.field == "" && m.IsActive():
			t.Fatalf("%v of the person: still active, and no record: %s", d, waiting)
		case d.field != "" && fieldOf(m, d.field) != d.value:
			t.Fatalf("%v of the person is nowhere: %+v, %s", d, m, waiting)
		}
	}
}

func (w *world) checkDaemon(t *rapid.T, deeds []deed) {
	t.Helper()
	images := map[string]*memory.Memory{}
	if ops, _ := w.ops(); len(ops) == 1 {
		rec, err := w.store.Operation(t.Context(), ops[0])
		must(t, err)
		for _, c := range rec.Changes {
			if c.Memory != nil {
				images[c.Memory.ID] = c.Memory.Before
			}
		}
	}
	for _, d := range deeds {
		m, err := w.store.Space("").Get(d.id)
		must(t, err)
		switch was := images[d.id]; {
		case d.field == "":
			if m.IsActive() {
				t.Fatalf("%v of the daemon was taken back", d)
			}
		case fieldOf(m, d.field) == d.value:
		case was == nil || fieldOf(was, d.field) != d.value:
			t.Fatalf("%v of the daemon is nowhere: %+v", d, m)
		}
	}
}
