package reconcile_test

import (
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/dailylog"
	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable"
)

// TestIndexOfArchivedLogs only tells what happened: whatever becomes of the file, the store stays as it is and the
// file comes back. What somebody wrote into it is kept.
func TestIndexOfArchivedLogs(t *testing.T) {
	const name, refusal = "logs/" + dailylog.ArchiveName, "refused logs/archive.json: the index of archived logs only reports what happened; " +
		"edits of it are not adopted"
	for _, tt := range []struct {
		name string
		edit func(w *world)
		want []string
	}{
		{name: "nothing"},
		{name: "changed", edit: func(w *world) { w.replace(name, "moved the service", "did nothing") }, want: []string{refusal}},
		{name: "not JSON", edit: func(w *world) { w.write(name, "[") }, want: []string{refusal}},
		{name: "a record added", edit: func(w *world) { w.replace(name, `"logs": [`, `"logs": [{"id": "2026-01-01", "date": "2026-01-01"},`) }, want: []string{refusal}},
		{name: "deleted", edit: func(w *world) { must(w.t, w.fs.Remove(name)) }},
		{name: "not known what was published", edit: func(w *world) {
			must(w.t, w.store.Close(w.t.Context()))
			must(w.t, w.fs.Remove(dailylog.Manifest))
			must(w.t, w.open())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.twoDays()
			w.update(func(tx *store.Tx) error {
				tx.LogArchived(memory.Archived{Date: "2026-02-01", Entries: 1, Summary: "moved the service"})
				return nil
			})
			w.publish()
			published, digest, lsn := w.read(name), w.digest(), w.store.LSN()
			if tt.edit != nil {
				tt.edit(w)
			}
			for range 2 { // a file that is not understood is given a moment
				w.clock.Advance(3 * time.Second)
				w.look()
				w.publish()
			}
			diff(t, "published again", published, w.read(name))
			diff(t, "edits that wait", tt.want, w.waiting())
			edits, err := w.edits.List()
			must(t, err)
			for _, e := range edits {
				if _, err := w.edits.Resolve(t.Context(), e.ID, true); err == nil {
					t.Error("a refused edit can be accepted")
				}
				_, err := w.edits.Resolve(t.Context(), e.ID, false)
				must(t, err)
			}
			w.publish()
			diff(t, "edits that still wait", []string(nil), w.waiting())
			w.restart()
			w.look()
			w.publish()
			diff(t, "published after a restart", published, w.read(name))
			if w.store.LSN() != lsn || w.digest() != digest {
				t.Error("the store is another")
			}
		})
	}
}

// TestArchivedLogDeletedByHand requires that the record says so, and that undo takes that back too.
func TestArchivedLogDeletedByHand(t *testing.T) {
	w := newWorld(t)
	w.twoDays()
	w.update(func(tx *store.Tx) error {
		tx.LogArchived(memory.Archived{Date: day, Entries: 2, Summary: "moved the service"})
		return nil
	})
	w.publish()
	must(t, w.fs.Remove(logName))
	w.look()
	w.clock.Advance(3 * time.Second)
	w.look()
	numbers, _ := w.ops()
	logs := w.store.Space("").ArchivedOn(day)
	if len(numbers) != 1 || len(logs) != 1 || !logs[0].Deleted() || logs[0].DeletedOp != numbers[0] {
		t.Fatalf("operations %v, records %+v", numbers, logs)
	}
	_, err := w.store.Undo(t.Context(), store.Meta{}, numbers[0])
	must(t, err)
	if logs := w.store.Space("").ArchivedOn(day); len(logs) != 1 || logs[0].Deleted() {
		t.Errorf("after the undo: %+v", logs)
	}
	_, entries, err := w.store.Space("").Log(day)
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("after the undo there are %d entries", len(entries))
	}
}

// TestIndexThatIsNotOurs is left alone as long as no log was archived, and kept when one is.
func TestIndexThatIsNotOurs(t *testing.T) {
	const name = "logs/" + dailylog.ArchiveName
	w := newWorld(t)
	w.twoDays()
	w.write(name, `"mine"`)
	for range 2 {
		w.clock.Advance(3 * time.Second)
		w.look()
		w.publish()
		w.restart()
	}
	diff(t, "the file", `"mine"`, w.read(name))
	w.update(func(tx *store.Tx) error { tx.LogArchived(memory.Archived{Date: "2026-02-01", Entries: 1}); return nil })
	w.publish()
	w.look()
	edits, err := w.edits.List()
	must(t, err)
	if len(edits) != 1 || edits[0].Kind != publish.Refused {
		t.Fatalf("edits %v", edits)
	}
	if data, err := durable.ReadFile(w.fs, edits[0].Copy); err != nil || string(data) != `"mine"` {
		t.Errorf("kept %q: %v", data, err)
	}
}

func (w *world) digest() string {
	w.t.Helper()
	digest, err := w.store.Digest()
	must(w.t, err)
	return digest
}
