package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/store"
)

const logName = "logs/" + day + ".json"

// twoDays publishes two daily logs of two entries each.
func (w *world) twoDays() {
	w.t.Helper()
	for _, date := range []string{"2026-02-20", day} {
		w.log(date, "e1", "moved the service")
		w.log(date, "e2", "修好了部署")
	}
	w.publish()
}

func entriesOf(doc map[string]any) []map[string]any {
	var out []map[string]any
	for _, e := range doc["entries"].([]any) {
		out = append(out, e.(map[string]any))
	}
	return out
}

// TestLogTakenOver holds the rules by which an edit of a daily log becomes an operation.
func TestLogTakenOver(t *testing.T) {
	const other = "2026-02-20: e1=moved the service e2=修好了部署"
	for _, tt := range []struct {
		name   string
		edit   func(w *world)
		want   []string
		reason string
		wait   []string
	}{
		{
			name: "entry changed",
			edit: func(w *world) { w.replace(logName, "moved the service", "moved two services") },
			want: []string{other, day + ": e1=moved two services e2=修好了部署"}, reason: "1 changed",
		},
		{
			name: "entry removed, another added",
			edit: func(w *world) {
				w.rewrite(logName, func(doc map[string]any) {
					without(doc, "entries", "e1")
					doc["entries"] = append(doc["entries"].([]any), map[string]any{"time": "12:00", "content": "had lunch"})
				})
			},
			want: []string{other, day + ": e2=修好了部署 e1cb3b75c090=had lunch"}, reason: "1 added, 1 removed",
		},
		{
			name: "summary and mark",
			edit: func(w *world) {
				w.rewrite(logName, func(doc map[string]any) { doc["summary"], doc["archived"], doc["mood"] = "a day", true, "fine" })
			},
			want: []string{other, day + ": e1=moved the service e2=修好了部署 (a day)"}, reason: "1 changed",
		},
		{
			name: "stale copy while entries arrived",
			edit: func(w *world) {
				text := w.read(logName)
				w.log(day, "e3", "arrived")
				w.publish()
				w.write(logName, strings.Replace(text, "moved the", "moved a", 1))
			},
			want: []string{other, day + ": e1=moved a service e2=修好了部署 e3=arrived"}, reason: "1 changed",
		},
		{
			name: "an old tool that drops what it does not know, the ids too",
			edit: func(w *world) {
				w.write(logName, old(w.t, w.read(logName), func(doc map[string]any) {
					entriesOf(doc)[0]["content"] = "moved a service"
					doc["entries"] = append(doc["entries"].([]any), map[string]any{"time": "12:00:00", "type": "event", "content": "had lunch"})
				}))
			},
			want: []string{other, day + ": e1=moved a service e2=修好了部署 b4284c7aaa38=had lunch"}, reason: "1 added, 1 changed",
		},
		{
			name: "the time of an entry",
			edit: func(w *world) { w.replace(logName, `"time": "10:00:00"`, `"time": "11:30:00"`) },
			want: []string{other, day + ": e2=修好了部署 e1=moved the service"}, reason: "1 changed",
		},
		{
			name: "removed in the edit, changed since: stays",
			edit: func(w *world) {
				text := rewritten(w.t, w.read(logName), func(doc map[string]any) {
					without(doc, "entries", "e1")
					entriesOf(doc)[0]["tool"] = "deploy"
				})
				w.update(func(tx *store.Tx) error {
					_, entries, err := w.store.Space("").Log(day)
					must(w.t, err)
					after := *entries[0]
					after.Content = "moved it"
					return tx.ChangeEntry(day, entries[0], &after)
				})
				w.publish()
				w.write(logName, text)
			},
			want: []string{other, day + ": e1=moved it e2=修好了部署"}, reason: "1 changed",
			wait: []string{"conflict " + logName + ": entry e1: removed in the edit, but changed since (content)"},
		},
		{
			name: "a log made by hand",
			edit: func(w *world) {
				w.write("logs/2026-02-22.json", `{"date": "2026-02-22", "entries": [{"time": "09:00", "content": "by hand"}]}`)
			},
			want: []string{other, day + ": e1=moved the service e2=修好了部署", "2026-02-22: dd9189c6e43a=by hand"}, reason: "1 added",
		},
		{
			name: "a log deleted",
			edit: func(w *world) {
				must(w.t, w.fs.Remove(logName))
				w.look()
				if len(w.store.Space("").Days()) != 2 {
					w.t.Fatal("removed at once")
				}
				w.clock.Advance(3 * time.Second)
			},
			want: []string{other}, reason: "deleted 1 removed",
		},
		{
			name: "what looks like a secret is kept as it was written, and reported",
			edit: func(w *world) {
				w.replace(logName, "moved the service", "token ghp_abcdefghijklmnopqrstuvwxyz0123456789")
			},
			want:   []string{other, day + ": e1=token ghp_abcdefghijklmnopqrstuvwxyz0123456789 e2=修好了部署"},
			reason: "1 changed; kept, but it looks like a secret: entry e1 (github-token)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.twoDays()
			tt.edit(w)
			before := w.state()
			w.look()
			diff(t, "state", tt.want, w.brief())
			diff(t, "edits that wait", tt.wait, w.waiting())
			_, reasons := w.ops()
			name, verb, what := logName, "edited", tt.reason
			if tt.name == "a log made by hand" {
				name = "logs/2026-02-22.json"
			}
			if rest, ok := strings.CutPrefix(what, "deleted "); ok {
				verb, what = "deleted", rest
			}
			diff(t, "reasons", []string{name + " " + verb + ": " + what}, reasons)
			w.finish(before, 1)
		})
	}
}

// TestLogWaits holds edits of logs that a person must decide about.
func TestLogWaits(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(w *world)
		wait string
		want []string // after accepting, nil for refused
	}{
		{
			name: "an older version",
			edit: func(w *world) {
				text := w.read(logName)
				w.log(day, "e3", "arrived")
				w.publish()
				w.write(logName, text)
			},
			wait: "ambiguous " + logName + ": it is the log of revision 4 again",
			want: []string{"2026-02-20: e1=moved the service e2=修好了部署", day + ": e1=moved the service e2=修好了部署"},
		},
		{
			name: "a removed log put back",
			edit: func(w *world) {
				text := w.read(logName)
				w.update(func(tx *store.Tx) error {
					header, entries, err := w.store.Space("").Log(day)
					must(w.t, err)
					return tx.RemoveDay(header, entries)
				})
				w.publish()
				w.write(logName, text)
			},
			wait: "ambiguous " + logName + ": it is the log of revision 4 again",
			want: []string{"2026-02-20: e1=moved the service e2=修好了部署", day + ": e1=moved the service e2=修好了部署"},
		},
		{
			name: "half of it",
			edit: func(w *world) { w.write(logName, w.read(logName)[:50]) },
			wait: "refused " + logName + ": line 5",
		},
		{
			name: "the log of another day",
			edit: func(w *world) { w.replace(logName, `"date": "2026-02-21"`, `"date": "2026-02-20"`) },
			wait: "refused " + logName + ": says that it is the log of",
		},
	} {
		for _, accept := range []bool{true, false} {
			t.Run(fmt.Sprint(tt.name, ", accept ", accept), func(t *testing.T) {
				w := newWorld(t)
				w.twoDays()
				tt.edit(w)
				before, edited := w.state(), w.read(logName)
				w.look()
				w.publish()
				w.restart()
				w.look()
				list, err := w.edits.List()
				must(t, err)
				if len(list) != 1 || !strings.HasPrefix(w.waiting()[0], tt.wait) {
					t.Fatalf("edits that wait: %v, want %s", w.waiting(), tt.wait)
				}
				diff(t, "file", edited, w.read(logName))
				_, err = w.edits.Resolve(t.Context(), list[0].ID, accept && tt.want != nil)
				must(t, err)
				if accept && tt.want != nil {
					diff(t, "state", tt.want, w.brief())
					w.finish(before, 1)
					return
				}
				diff(t, "state", before, w.state())
				w.finish(before, 0)
			})
		}
	}
}

// TestManyLogsDeleted asks when more than 3 and more than a fifth are gone at one look.
func TestManyLogsDeleted(t *testing.T) {
	for _, tt := range []struct {
		all, deleted int
		waits        bool
	}{{10, 3, false}, {10, 4, true}, {20, 4, false}, {20, 5, true}} {
		for _, accept := range []bool{true, false} {
			w := newWorld(t)
			var dates []string
			for i := range tt.all {
				dates = append(dates, fmt.Sprintf("2026-01-%02d", i+1))
				w.log(dates[i], "e1", "entry")
			}
			w.publish()
			before := w.state()
			for _, date := range dates[:tt.deleted] {
				must(t, w.fs.Remove("logs/"+date+".json"))
			}
			w.look()
			w.clock.Advance(3 * time.Second)
			w.look()
			if waits := len(w.waiting()) == 1; waits != tt.waits {
				t.Fatalf("%d of %d: waits %v", tt.deleted, tt.all, waits)
			}
			if !tt.waits {
				w.publish()
				w.published()
				continue
			}
			w.look()
			w.restart()
			_, err := w.edits.Scan(t.Context(), true)
			must(t, err)
			list, err := w.edits.List()
			must(t, err)
			if len(list) != 1 || list[0].File != "logs" {
				t.Fatalf("edits: %+v", list)
			}
			diff(t, "state", before, w.state())
			_, err = w.edits.Resolve(t.Context(), list[0].ID, accept)
			must(t, err)
			if accept {
				if n := len(w.store.Space("").Days()); n != tt.all-tt.deleted {
					t.Fatalf("%d days are left", n)
				}
				w.finish(before, 1)
			} else {
				w.finish(before, 0)
			}
		}
	}
}

// TestDeletedLogThatChangedSince is published again.
func TestDeletedLogThatChangedSince(t *testing.T) {
	w := newWorld(t)
	w.twoDays()
	w.log(day, "e3", "arrived")
	before := w.state()
	must(t, w.fs.Remove(logName))
	w.look()
	w.clock.Advance(3 * time.Second)
	w.look()
	diff(t, "state", before, w.state())
	w.finish(before, 0)
}

// TestOtherNames are left alone.
func TestOtherNames(t *testing.T) {
	w := newWorld(t)
	w.twoDays()
	must(t, w.fs.MkdirAll("spaces/Not A Space"))
	for _, name := range []string{"logs/notes.json", "logs/2026-02-30.json", "notes.json", "spaces/Not A Space/memory.json", "memory.json.bak2"} {
		w.write(name, "{}")
	}
	lsn := w.store.LSN()
	w.look()
	if w.store.LSN() != lsn || len(w.waiting()) > 0 || len(w.store.Spaces()) != 1 {
		t.Errorf("something was taken over: %v", w.waiting())
	}
}
