package reconcile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/store"
)

const file = "memory.json"

// three publishes three memories, of which the second has all kinds of fields.
func (w *world) three() {
	w.t.Helper()
	w.add("a", "The API listens on port 8443")
	w.add("b", "用户偏好东方航空")
	w.add("c", "Commits are small")
	w.change("b", func(m *memory.Memory) {
		m.Tags, m.Title, m.Pinned = []string{"travel"}, "Airline", true
		m.SetExtra(map[string]json.RawMessage{"colour": json.RawMessage(`"blue"`)})
	})
	w.update(func(tx *store.Tx) error { tx.SetSummary("Writes Go"); return nil })
	w.publish()
}

const richB = `b: 用户偏好东方航空 #travel <Airline> colour="blue"`

// TestTakenOver holds the rules by which an edit of memory.json becomes an operation.
func TestTakenOver(t *testing.T) {
	for _, tt := range []struct {
		name   string
		edit   func(w *world) // from the three memories, published
		want   []string
		reason string
		wait   []string
	}{
		{
			name: "one changed",
			edit: func(w *world) { w.replace(file, "port 8443", "port 9443") },
			want: []string{"a: The API listens on port 9443", richB, "c: Commits are small", "summary: Writes Go"}, reason: "1 changed",
		},
		{
			name: "one removed",
			edit: func(w *world) { w.rewrite(file, func(doc map[string]any) { without(doc, "memories", "c") }) },
			want: []string{"a: The API listens on port 8443", richB, "c: Commits are small (retired)", "summary: Writes Go"}, reason: "1 removed",
		},
		{
			name: "new ones, one without an id",
			edit: func(w *world) {
				w.rewrite(file, func(doc map[string]any) {
					doc["memories"] = append(doc["memories"].([]any), map[string]any{"content": "Uses vim"}, map[string]any{"id": "n", "content": "喜欢茶", "category": "preferences"})
				})
			},
			want: []string{"a: The API listens on port 8443", richB, "c: Commits are small", "d981911587e2: Uses vim", "n: 喜欢茶", "summary: Writes Go"}, reason: "2 added",
		},
		{
			name: "summary, and an unknown field of the file",
			edit: func(w *world) {
				w.replace(file, "Writes Go", "Writes Rust", `"version": 2,`, `"version": 2, "owner": "me",`)
			},
			want: []string{"a: The API listens on port 8443", richB, "c: Commits are small", "summary: Writes Rust"}, reason: "1 changed",
		},
		{
			name: "stale copy while five memories arrived",
			edit: func(w *world) {
				text := w.read(file)
				for i := range 5 {
					w.add(fmt.Sprint("n", i), fmt.Sprint("arrived ", i))
				}
				w.publish()
				w.write(file, strings.Replace(text, "port 8443", "port 9443", 1))
			},
			want: []string{
				"a: The API listens on port 9443", richB, "c: Commits are small",
				"n0: arrived 0", "n1: arrived 1", "n2: arrived 2", "n3: arrived 3", "n4: arrived 4", "summary: Writes Go",
			}, reason: "1 changed",
		},
		{
			name: "stale copy, not published in between",
			edit: func(w *world) {
				w.add("n", "arrived")
				w.change("b", func(m *memory.Memory) { m.Title = "Carrier" })
				w.replace(file, "东方航空", "南方航空")
			},
			want:   []string{"a: The API listens on port 8443", `b: 用户偏好南方航空 #travel <Carrier> colour="blue"`, "c: Commits are small", "n: arrived", "summary: Writes Go"},
			reason: "1 changed",
		},
		{
			name: "an old tool that drops what it does not know",
			edit: func(w *world) {
				w.write(file, old(w.t, w.read(file), func(doc map[string]any) {
					memoriesOf(doc)[1]["content"] = "用户偏好南方航空"
					doc["memories"] = append(doc["memories"].([]any), map[string]any{"id": "n", "content": "Uses vim", "category": "facts", "salience": 0.5})
					without(doc, "memories", "c")
				}))
			},
			want: []string{
				"a: The API listens on port 8443", `b: 用户偏好南方航空 #travel <Airline> colour="blue"`, "c: Commits are small (retired)", "n: Uses vim", "summary: Writes Go",
			}, reason: "1 added, 1 changed, 1 removed",
		},
		{
			name: "an old tool with a stale copy",
			edit: func(w *world) {
				text := old(w.t, w.read(file), func(doc map[string]any) { without(doc, "memories", "c") })
				w.clock.Advance(time.Minute)
				w.add("n", "arrived")
				w.publish()
				w.write(file, text)
			},
			want: []string{"a: The API listens on port 8443", richB, "c: Commits are small (retired)", "n: arrived", "summary: Writes Go"}, reason: "1 removed",
		},
		{
			name: "same field changed on both sides: the person's counts",
			edit: func(w *world) {
				text := w.read(file)
				w.change("a", func(m *memory.Memory) { m.Content = "The API listens on port 7443" })
				w.publish()
				w.write(file, strings.Replace(text, "port 8443", "port 9443", 1))
			},
			want: []string{"a: The API listens on port 9443", richB, "c: Commits are small", "summary: Writes Go"}, reason: "1 changed",
		},
		{
			name: "other fields changed on both sides: both",
			edit: func(w *world) {
				text := w.read(file)
				w.change("b", func(m *memory.Memory) { m.Tags = []string{"travel", "air"}; m.Salience = 0.9 })
				w.publish()
				w.write(file, strings.Replace(text, "Airline", "Carrier", 1))
			},
			want: []string{"a: The API listens on port 8443", `b: 用户偏好东方航空 #travel#air <Carrier> colour="blue"`, "c: Commits are small", "summary: Writes Go"}, reason: "1 changed",
		},
		{
			name: "removed in the edit, changed since: stays",
			edit: func(w *world) {
				text := rewritten(w.t, w.read(file), func(doc map[string]any) {
					without(doc, "memories", "c")
					memoriesOf(doc)[0]["content"] = "The API listens on port 9443"
				})
				w.change("c", func(m *memory.Memory) { m.Content = "Commits are tiny" })
				w.publish()
				w.write(file, text)
			},
			want: []string{"a: The API listens on port 9443", richB, "c: Commits are tiny", "summary: Writes Go"}, reason: "1 changed",
			wait: []string{"conflict memory.json: memory c: removed in the edit, but changed since (content)"},
		},
		{
			name: "changed in the edit, retired since: stays retired",
			edit: func(w *world) {
				text := strings.Replace(w.read(file), "Commits are small", "Commits are tiny", 1)
				text = strings.Replace(text, "8443", "9443", 1)
				w.retire("c")
				w.publish()
				w.write(file, text)
			},
			want: []string{"a: The API listens on port 9443", richB, "c: Commits are small (retired)", "summary: Writes Go"}, reason: "1 changed",
			wait: []string{"conflict memory.json: memory c: changed in the edit, but retired since (content)"},
		},
		{
			name: "a retired one put back by somebody who had it retired",
			edit: func(w *world) {
				item := memoriesOf(decoded(w))[2]
				w.retire("c")
				w.publish()
				w.rewrite(file, func(doc map[string]any) { doc["memories"] = append(doc["memories"].([]any), item) })
			},
			want: []string{"a: The API listens on port 8443", richB, "c: Commits are small", "summary: Writes Go"}, reason: "1 changed",
		},
		{
			name: "a retired one in what an old tool kept: stays retired",
			edit: func(w *world) {
				text := old(w.t, w.read(file), func(doc map[string]any) { memoriesOf(doc)[0]["salience"] = 0.9 })
				w.retire("c")
				w.publish()
				w.write(file, text)
			},
			want: []string{"a: The API listens on port 8443", richB, "c: Commits are small (retired)", "summary: Writes Go"}, reason: "1 changed",
			wait: []string{"conflict memory.json: memory c: added in the edit, but it was retired"},
		},
		{
			name: "what looks like a secret is kept as it was written, and reported",
			edit: func(w *world) {
				w.replace(file, "Commits are small", "The token is ghp_abcdefghijklmnopqrstuvwxyz0123456789")
			},
			want:   []string{"a: The API listens on port 8443", richB, "c: The token is ghp_abcdefghijklmnopqrstuvwxyz0123456789", "summary: Writes Go"},
			reason: "1 changed; kept, but it looks like a secret: memory c (github-token)",
		},
		{
			name: "what a person marks private in a file is kept: the file is theirs",
			edit: func(w *world) {
				w.replace(file, "Commits are small", "<private>my diary</private>", "8443", "9443")
			},
			want:   []string{"a: The API listens on port 9443", richB, "c: <private>my diary</private>", "summary: Writes Go"},
			reason: "2 changed",
		},
		{
			name: "a new one that says what another says, with a title",
			edit: func(w *world) {
				w.rewrite(file, func(doc map[string]any) {
					memoriesOf(doc)[0]["content"] = "The API listens on port 9443"
					doc["memories"] = append(doc["memories"].([]any), map[string]any{"id": "n", "content": "commits are small", "category": "facts", "title": "Size"})
				})
			},
			want: []string{"a: The API listens on port 9443", richB, "c: Commits are small", "summary: Writes Go"}, reason: "1 changed",
			wait: []string{"conflict memory.json: memory n: says the same as memory c, which stays as it is (content, title)"},
		},
		{
			name: "status by hand",
			edit: func(w *world) { w.replace(file, `"id": "c",`, `"id": "c", "status": "retired",`) },
			want: []string{"a: The API listens on port 8443", richB, "c: Commits are small (retired)", "summary: Writes Go"}, reason: "1 changed",
		},
		{
			name: "values outside the limits are brought within",
			edit: func(w *world) { w.replace(file, `"id": "c",`, `"id": "c", "title": "`+strings.Repeat("x", 201)+`",`) },
			want: []string{
				"a: The API listens on port 8443", richB,
				"c: Commits are small <" + strings.Repeat("x", 200) + `> original_title="` + strings.Repeat("x", 201) + `"`, "summary: Writes Go",
			}, reason: "1 changed",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.three()
			tt.edit(w)
			before := w.state()
			w.look()
			diff(t, "state", tt.want, w.brief())
			diff(t, "edits that wait", tt.wait, w.waiting())
			_, reasons := w.ops()
			diff(t, "reasons", []string{"memory.json edited: " + tt.reason}, reasons)
			w.finish(before, 1)
		})
	}
}

func decoded(w *world) (doc map[string]any) {
	w.t.Helper()
	must(w.t, json.Unmarshal([]byte(w.read(file)), &doc))
	return doc
}

// TestNothingToTakeOver holds edits that are no change.
func TestNothingToTakeOver(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(w *world)
	}{
		{"another format", func(w *world) { w.rewrite(file, func(map[string]any) {}) }},
		{"fields of the daemon", func(w *world) {
			w.rewrite(file, func(doc map[string]any) {
				doc["last_updated"] = "2020-01-01T00:00:00Z"
				memoriesOf(doc)[0]["updated_at"], memoriesOf(doc)[0]["revision"] = "2020-01-01T00:00:00Z", 77
			})
		}},
		{"an old tool without a change", func(w *world) { w.write(file, old(w.t, w.read(file), func(map[string]any) {})) }},
		{"accesses counted since", func(w *world) {
			text := w.read(file)
			w.store.CountAccess(memory.DefaultSpace, []string{"a"}, w.clock.Now())
			must(w.t, w.store.FlushAccesses(w.t.Context()))
			w.write(file, text+"\n")
		}},
		{"what is there already", func(w *world) {
			text := w.read(file)
			w.change("a", func(m *memory.Memory) { m.Content = "The API listens on port 9443" })
			w.publish()
			w.write(file, strings.Replace(text, "port 8443", "port 9443", 1))
		}},
		{"removed by both", func(w *world) {
			text := rewritten(w.t, w.read(file), func(doc map[string]any) { without(doc, "memories", "c") })
			w.retire("c")
			w.publish()
			w.write(file, text)
		}},
		{"a new memory that says what another says", func(w *world) {
			w.rewrite(file, func(doc map[string]any) {
				doc["memories"] = append(doc["memories"].([]any), map[string]any{"id": "n", "content": "Commits are small.", "category": "facts"})
				doc["memories"] = append(doc["memories"].([]any), map[string]any{"id": "o", "content": "Commits are small", "category": "facts"})
				without(doc, "memories", "n")
			})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.three()
			tt.edit(w)
			before := w.state()
			w.look()
			diff(t, "state", before, w.state())
			diff(t, "edits that wait", []string(nil), w.waiting())
			w.finish(before, 0)
		})
	}
}

// TestHalfWritten looks at a file while it is written: nothing is said before it has been still for a while.
func TestHalfWritten(t *testing.T) {
	w := onDisk(t)
	w.three()
	before := w.state()
	text := strings.Replace(w.read(file), "8443", "9443", 1)
	w.write(file, text[:100])
	w.young(file)
	again, err := w.edits.Scan(t.Context(), false)
	must(t, err)
	if !again.After(w.clock.Now()) || len(w.waiting()) > 0 {
		t.Fatalf("looked again at %v, waiting %v", again, w.waiting())
	}
	w.publish()
	diff(t, "file", text[:100], w.read(file))
	w.write(file, text)
	w.young(file)
	w.look()
	diff(t, "edits that wait", []string(nil), w.waiting())
	w.finish(before, 1)
}

// TestInvalidThenMended takes an edit over once it can be read.
func TestInvalidThenMended(t *testing.T) {
	w := onDisk(t)
	w.three()
	text := strings.Replace(w.read(file), "8443", "9443", 1)
	w.write(file, strings.Replace(text, "}", "", 1))
	w.young(file)
	w.look()
	w.clock.Advance(3 * time.Second)
	w.look()
	if len(w.waiting()) != 1 {
		t.Fatalf("waiting: %v", w.waiting())
	}
	w.add("n", "arrived")
	before := w.state()
	w.publish()
	w.write(file, text)
	w.look()
	diff(t, "edits that wait", []string(nil), w.waiting())
	w.finish(before, 1)
	if records := w.records(); len(records) != 1 || records[0] != "refused superseded" {
		t.Errorf("records: %v", records)
	}
}

// TestDeletedAndMadeAgain does not take a file that is missing for a moment for deleted, and publishes one that
// stays away again.
func TestDeletedAndMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.three()
	before := w.state()
	text := strings.Replace(w.read(file), "8443", "9443", 1)
	must(t, w.fs.Remove(file))
	w.look()
	w.clock.Advance(time.Second)
	w.look()
	w.write(file, text)
	w.clock.Advance(5 * time.Second)
	w.look()
	diff(t, "edits that wait", []string(nil), w.waiting())
	w.finish(before, 1)

	must(t, w.fs.Remove(file))
	w.look()
	w.clock.Advance(3 * time.Second)
	w.look()
	w.publish()
	w.published()
}

// TestWhileDown takes over what was edited while nothing ran, before anything is published.
func TestWhileDown(t *testing.T) {
	w := newWorld(t)
	w.three()
	w.add("n", "never published")
	must(t, w.store.Close(t.Context()))
	w.replace(file, "8443", "9443")
	must(t, w.fs.MkdirAll("spaces/work"))
	w.write("spaces/work/memory.json", `{"version": 2, "memories": [{"content": "made by hand"}]}`)
	must(t, w.open())
	before := w.state()
	_, err := w.edits.Scan(t.Context(), true)
	must(t, err)
	diff(t, "state", []string{
		"a: The API listens on port 9443", richB, "c: Commits are small", "n: never published", "summary: Writes Go", "work/34af147322eb: made by hand",
	}, w.brief())
	_, reasons := w.ops()
	diff(t, "reasons", []string{"memory.json edited: 1 changed", "spaces/work/memory.json edited: 1 added"}, reasons)
	w.publish()
	w.published()
	numbers, _ := w.ops()
	for _, op := range numbers {
		_, err := w.store.Undo(t.Context(), store.Meta{}, op)
		must(t, err)
	}
	diff(t, "state after undo", before, w.state())
	w.publish()
	w.look()
	w.published()
}

// TestForgottenByHand lets a person bring back a forgotten value, and forget one, in the file.
func TestForgottenByHand(t *testing.T) {
	w := newWorld(t)
	w.three()
	w.update(func(tx *store.Tx) error { tx.Forget("Uses emacs"); return nil })
	w.publish()
	before := w.state()
	w.rewrite(file, func(doc map[string]any) {
		doc["memories"] = append(doc["memories"].([]any), map[string]any{"id": "n", "content": "Uses emacs."})
	})
	w.look()
	if len(w.store.Space("").Forgotten()) != 0 {
		t.Error("the value is still forgotten")
	}
	w.finish(before, 1)

	w.rewrite(file, func(doc map[string]any) {
		doc["forgotten"] = append(
			doc["forgotten"].([]any),
			map[string]any{"hash": "x:1", "at": "2026-01-01T00:00:00Z"},
			map[string]any{"hash": "x:2"},
		)
	})
	w.look()
	if got := w.store.Space("").Forgotten(); len(got) != 3 || got["x:1"].Year() != 2026 || got["x:2"].IsZero() {
		t.Errorf("forgotten: %v", got)
	}
	w.finish(before, 2)
}

// TestUnknownFieldsOfTheFile are kept when an old tool drops them, and follow the edit otherwise.
func TestUnknownFieldsOfTheFile(t *testing.T) {
	w := newWorld(t)
	w.three()
	w.replace(file, `"version": 2,`, `"version": 2, "owner": "me",`)
	w.look()
	w.add("n", "arrived")
	w.publish()
	if !strings.Contains(w.read(file), `"owner": "me"`) {
		t.Fatal("the field is not in the file any more")
	}
	w.write(file, old(t, w.read(file), func(doc map[string]any) { memoriesOf(doc)[0]["salience"] = 0.9 }))
	w.look()
	w.publish()
	if !strings.Contains(w.read(file), `"owner": "me"`) {
		t.Fatal("an old tool dropped it")
	}
	w.replace(file, `"owner": "me"`, `"owner": "you"`)
	w.look()
	w.add("o", "arrived too")
	w.publish()
	if !strings.Contains(w.read(file), `"owner": "you"`) {
		t.Fatal("the edit is not in the file")
	}
}

// TestAccessesByHand are taken over only when the daemon cannot have written them.
func TestAccessesByHand(t *testing.T) {
	w := newWorld(t)
	m := memtest.Fact("a", "counted")
	m.SetAccesses(5, memtest.Epoch)
	w.update(func(tx *store.Tx) error { return tx.Put(m) })
	w.publish()
	w.replace(file, `"access_count": 5`, `"access_count": 1`)
	w.look()
	if got, err := w.store.Space("").Get("a"); err != nil || got.AccessCount() != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestYearsByHand: an edit with a time that cannot be is refused, kept, and named.
func TestYearsByHand(t *testing.T) {
	w := newWorld(t)
	m := memtest.Fact("a", "dated")
	w.update(func(tx *store.Tx) error {
		return errors.Join(tx.Put(m), tx.AppendEntry("2026-02-21", &memory.Entry{ID: "e", At: memtest.Epoch, Time: "10:30:00", Type: memory.EntryEvent, Content: "an entry"}))
	})
	w.publish()
	before := w.read(file)
	w.replace(file, `"created_at": "`+m.CreatedAt.Format(time.RFC3339), `"created_at": "1969-07-20T20:17:40Z`)
	w.replace("logs/2026-02-21.json", `"at": "2026`, `"at": "1969`)
	w.look()
	if got, err := w.store.Space("").Get("a"); err != nil || !got.CreatedAt.Equal(m.CreatedAt) {
		t.Errorf("got %+v, %v", got, err)
	}
	list, err := w.edits.List()
	must(t, err)
	var waiting []string
	for _, e := range list {
		waiting = append(waiting, e.File+" "+strings.Join(e.Details, " "))
	}
	if all := strings.Join(waiting, "\n"); len(list) != 2 || strings.Count(all, "1970 to 9999") != 2 {
		t.Errorf("waiting: %q", waiting)
	}
	if w.read(file) == before {
		t.Error("the edit was published over")
	}
}

// TestSourceByHand: a memory that a person writes into the file has the source edit, or the one that is written.
func TestSourceByHand(t *testing.T) {
	w := newWorld(t)
	w.update(func(tx *store.Tx) error { return tx.Put(memtest.Fact("a", "known")) })
	w.publish()
	w.replace(file, `"memories": [`, `"memories": [{"id":"b","content":"by hand"},{"id":"c","content":"by a tool","source":"robot"},`)
	w.look()
	for id, want := range map[string]string{"a": memory.SourceUser, "b": memory.SourceEdit, "c": "robot"} {
		if m, err := w.store.Space("").Get(id); err != nil || m.Source != want {
			t.Errorf("%s: %+v, %v", id, m, err)
		}
	}
}

// TestAccessesOfAnOlderFile: a file shows accesses later than everything else, so an edit of it must not take back
// those that it does not show yet.
func TestAccessesOfAnOlderFile(t *testing.T) {
	w := newWorld(t)
	m := memtest.Fact("a", "counted")
	m.SetAccesses(5, memtest.Epoch.Add(time.Hour))
	w.update(func(tx *store.Tx) error { return tx.Put(m) })
	w.publish()
	w.replace(file, `"access_count": 5`, `"access_count": 3`)
	w.replace(file, m.LastAccessed().Format(time.RFC3339), memtest.Epoch.Add(time.Minute).Format(time.RFC3339))
	w.replace(file, "counted", "counted and edited")
	w.look()
	got, err := w.store.Space("").Get("a")
	if err != nil || got.Content != "counted and edited" || got.AccessCount() != 5 ||
		!got.LastAccessed().Equal(m.LastAccessed()) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// young gives a file the present time of the clock.
func (w *world) young(name string) {
	w.t.Helper()
	must(w.t, chtimes(w.dir+"/"+name, w.clock.Now()))
}
