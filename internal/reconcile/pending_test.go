package reconcile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// TestWaits holds what a person must decide, and what accepting and discarding do.
func TestWaits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		edit   func(w *world)
		wait   string
		accept []string // state after accepting; nil when that is refused
	}{
		{
			name: "emptied",
			edit: func(w *world) { w.rewrite(file, func(doc map[string]any) { doc["memories"] = []any{} }) },
			wait: "ambiguous memory.json: none of the 3 memories is left in it",
			accept: []string{
				"a: The API listens on port 8443 (retired)", `b: 用户偏好东方航空 #travel <Airline> (retired) colour="blue"`,
				"c: Commits are small (retired)", "summary: Writes Go",
			},
		},
		{
			name: "checkout of an older version",
			edit: func(w *world) {
				text := w.read(file)
				w.add("d", "arrived")
				w.change("a", func(m *memory.Memory) { m.Content = "The API listens on port 9443" })
				w.retire("c")
				w.publish()
				w.write(file, text)
			},
			wait:   "ambiguous memory.json: it is the state of revision 5 again; revision 8 was published last",
			accept: []string{"a: The API listens on port 8443", richB, "c: Commits are small", "d: arrived (retired)", "summary: Writes Go"},
		},
		{
			name:   "a revision that is to come",
			edit:   func(w *world) { w.replace(file, `"revision": 5`, `"revision": 99`, "8443", "9443") },
			wait:   "ambiguous memory.json: its revision 99 is none of this space",
			accept: []string{"a: The API listens on port 9443", richB, "c: Commits are small", "summary: Writes Go"},
		},
		{
			name: "half of it",
			edit: func(w *world) { text := w.read(file); w.write(file, text[:len(text)/2]) },
			wait: "refused memory.json: ",
		},
		{
			name: "an empty file",
			edit: func(w *world) { w.write(file, "") },
			wait: "refused memory.json: line 1, column 1: ",
		},
		{
			name: "a content that is empty",
			edit: func(w *world) { w.replace(file, "Commits are small", " ") },
			wait: "refused memory.json: memories[2].content: is empty; write something, or remove the memory c from the file",
		},
		{
			name: "a space that is only received",
			edit: func(w *world) { w.received = true; w.replace(file, "8443", "9443") },
			wait: `refused memory.json: space "default" is shared read-only: `,
		},
		{
			name: "a newer version",
			edit: func(w *world) { w.replace(file, `"version": 2`, `"version": 3`) },
			wait: "refused memory.json: written by a newer version",
		},
	} {
		for _, accept := range []bool{true, false} {
			t.Run(fmt.Sprint(tt.name, ", accept ", accept), func(t *testing.T) {
				w := newWorld(t)
				w.three()
				tt.edit(w)
				before, edited := w.state(), w.read(file)
				w.look()
				held := func() string {
					t.Helper()
					list, err := w.edits.List()
					must(t, err)
					if len(list) != 1 || !list[0].InPlace || !strings.HasPrefix(w.waiting()[0], tt.wait) {
						t.Fatalf("edits that wait: %v, want %s", w.waiting(), tt.wait)
					}
					return list[0].ID
				}
				held()
				// It is held: nothing is published over it, whatever arrives and however often it is looked at.
				w.publish()
				w.look()
				w.restart()
				w.look()
				w.publish()
				id := held()
				diff(t, "file", edited, w.read(file))
				diff(t, "state", before, w.state())
				diff(t, "copy", edited, w.copyOf(id))
				changes := w.preview(id)
				res, err := w.edits.Resolve(t.Context(), id[:6], accept)
				if accept && tt.accept == nil {
					if err == nil || changes != 0 {
						t.Fatal("a refused edit was accepted")
					}
					_, err = w.edits.Resolve(t.Context(), id, false)
					must(t, err)
					w.finish(before, 0)
					return
				}
				must(t, err)
				diff(t, "edits that wait", []string(nil), w.waiting())
				if !accept {
					diff(t, "state after discarding", before, w.state())
					w.finish(before, 0)
					return
				}
				diff(t, "state after accepting", tt.accept, w.brief())
				if rec, err := w.store.Operation(t.Context(), res.Op); err != nil || len(rec.Changes) != changes {
					t.Fatalf("the operation has other changes than were shown: %v", err)
				}
				w.finish(before, 1)
			})
		}
	}
}

func (w *world) copyOf(id string) string {
	w.t.Helper()
	e, _, err := w.edits.Get(w.t.Context(), id)
	must(w.t, err)
	return w.read(e.Copy)
}

func (w *world) preview(id string) int {
	w.t.Helper()
	_, changes, err := w.edits.Get(w.t.Context(), id)
	must(w.t, err)
	return len(changes)
}

// TestConflictResolved accepts and discards what was left out of an edit.
func TestConflictResolved(t *testing.T) {
	for _, accept := range []bool{true, false} {
		w := newWorld(t)
		w.three()
		text := strings.Replace(w.read(file), "Commits are small", "Commits are tiny", 1)
		text = rewritten(t, text, func(doc map[string]any) {
			without(doc, "memories", "a")
			memoriesOf(doc)[0]["title"] = "Carrier"
		})
		w.retire("c")
		w.change("a", func(m *memory.Memory) { m.Salience = 1 })
		w.write(file, text)
		w.look()
		w.publish()
		// What was taken over may change later; accepting the rest does not touch it.
		w.change("b", func(m *memory.Memory) { m.Title = "Wing" })
		before := w.state()
		list, err := w.edits.List()
		must(t, err)
		diff(t, "edits that wait", []string{
			"conflict memory.json: memory a: removed in the edit, but changed since (salience); memory c: changed in the edit, but retired since (content)",
		}, w.waiting())
		_, err = w.edits.Resolve(t.Context(), list[0].ID, accept)
		must(t, err)
		diff(t, "edits that wait", []string(nil), w.waiting())
		ops := 1
		if accept {
			ops = 2
			diff(t, "state", []string{
				"a: The API listens on port 8443 (retired)", `b: 用户偏好东方航空 #travel <Wing> colour="blue"`, "c: Commits are tiny", "summary: Writes Go",
			}, w.brief())
		} else {
			diff(t, "state", before, w.state())
		}
		if accept {
			w.finish(before, ops)
		}
	}
}

// TestMostRemoved draws the line of what is believed.
func TestMostRemoved(t *testing.T) {
	for _, tt := range []struct {
		all, removed int
		waits        bool
	}{{20, 10, false}, {20, 11, true}, {19, 18, false}, {1, 1, true}} {
		w := newWorld(t)
		for i := range tt.all {
			w.add(fmt.Sprint("m", i), fmt.Sprint("memory ", i))
		}
		w.publish()
		w.rewrite(file, func(doc map[string]any) { doc["memories"] = doc["memories"].([]any)[tt.removed:] })
		w.look()
		if waits := len(w.waiting()) > 0; waits != tt.waits {
			t.Errorf("%d of %d removed: waits %v, want %v", tt.removed, tt.all, waits, tt.waits)
		}
	}
}

// TestEditOfReceivedSpace: an edit of a space that is shared read-only waits until the sharing has ended; a deleted
// file is published again, a file that was only saved again is no edit, and daily logs are the machine's own.
func TestEditOfReceivedSpace(t *testing.T) {
	w := newWorld(t)
	w.three()
	w.received = true
	before := w.state()
	must(t, w.fs.Remove(file))
	w.look()
	w.publish()
	diff(t, "edits that wait", []string(nil), w.waiting())
	text := w.read(file)
	w.write(file, text+"\n")
	w.look()
	w.publish()
	diff(t, "edits that wait", []string(nil), w.waiting())
	diff(t, "state", before, w.state())
	w.replace(file, "8443", "9443")
	w.look()
	list, err := w.edits.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("edits that wait: %v, %v; want one", w.waiting(), err)
	}
	if _, err := w.edits.Resolve(t.Context(), list[0].ID, true); !errors.Is(err, memory.ErrRefused) {
		t.Errorf("accepted although the space is only received: %v", err)
	}
	diff(t, "state", before, w.state())
	w.received = false
	_, err = w.edits.Resolve(t.Context(), list[0].ID, true)
	must(t, err)
	diff(t, "state after accepting", []string{"a: The API listens on port 9443", richB, "c: Commits are small", "summary: Writes Go"}, w.brief())
}
