package reconcile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/memsidecar/memsidecar/internal/memtest"
	"github.com/memsidecar/memsidecar/internal/publish"
	"github.com/memsidecar/memsidecar/internal/store"
	"github.com/memsidecar/memsidecar/internal/store/durable/crashfs"
)

// TestLedgerLost takes nothing over, and asks nothing, when it is not known any more what was published.
func TestLedgerLost(t *testing.T) {
	w := newWorld(t)
	w.three()
	w.twoDays()
	must(t, w.store.Close(t.Context()))
	for _, name := range []string{"index/published-memories.json", "index/published-logs.json"} {
		must(t, w.fs.Remove(name))
	}
	must(t, w.open())
	before := w.state()
	w.look()
	diff(t, "edits that wait", []string(nil), w.waiting())
	w.finish(before, 0)
}

// TestLedgerLostAndEdited still knows from the revision in the file what it was made from.
func TestLedgerLostAndEdited(t *testing.T) {
	w := newWorld(t)
	w.three()
	must(t, w.store.Close(t.Context()))
	must(t, w.fs.Remove("index/published-memories.json"))
	w.replace(file, "8443", "9443")
	must(t, w.open())
	before := w.state()
	w.look()
	diff(t, "edits that wait", []string(nil), w.waiting())
	w.finish(before, 1)
}

// TestDisplaced takes over what was written in the moment of a publication, which stands in quarantine/ only.
func TestDisplaced(t *testing.T) {
	for _, tt := range []struct {
		name    string
		edit    func(text string) string
		ops     int
		wait    string
		records string
	}{
		{"taken over", func(text string) string { return strings.Replace(text, "8443", "9443", 1) }, 1, "", "pending taken"},
		{"not JSON", func(text string) string { return text[:90] }, 0, "refused memory.json: ", "refused"},
		{"of an old tool", func(text string) string {
			return strings.NewReplacer(`"revision": 5,`, "", "8443", "9443").Replace(text)
		}, 0,
			"ambiguous memory.json: it has no revision", "ambiguous"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.three()
			text := tt.edit(w.read(file))
			w.add("d", "arrived")
			w.publish()
			before := w.state()
			must(t, w.fs.MkdirAll("quarantine"))
			w.write("quarantine/found", text)
			e, err := publish.QuarantineEdit(
				w.fs,
				"quarantine/found",
				publish.Edit{File: file, Kind: publish.Pending, At: w.clock.Now()},
			)
			must(t, err)
			w.edits.EditQuarantined(e)
			w.look()
			if waiting := strings.Join(w.waiting(), "\n"); !strings.HasPrefix(waiting, tt.wait) ||
				tt.wait == "" && waiting != "" {
				t.Fatalf("edits that wait: %s", waiting)
			}
			diff(t, "records", []string{tt.records}, w.records())
			w.finish(before, tt.ops)
		})
	}
}

var errStop = errors.New("stopped")

// TestExchangedEdit edits the file while the publisher is about to exchange it, at every operation of the publication.
func TestExchangedEdit(t *testing.T) {
	for n := 1; ; n++ {
		sim := crashfs.New()
		w := &world{t: t, fs: sim, clock: &memtest.Clock{}}
		must(t, w.open())
		w.three()
		w.add("d", "arrived")
		text := strings.Replace(w.read(file), "8443", "9443", 1)
		start := sim.Ops()
		// The publication stops at one of its operations, the edit is made, and life goes on.
		sim.FailAt(start+n, errStop)
		err := w.mem.PublishAll(t.Context())
		if err == nil && sim.Ops() < start+n {
			if n < 5 {
				t.Fatalf("a publication of %d operations", n-1)
			}
			return
		}
		w.write(file, text)
		w.clock.Advance(time.Hour)
		w.look()
		w.publish()
		w.look()
		diff(
			t,
			"state",
			[]string{
				"a: The API listens on port 9443",
				richB,
				"c: Commits are small",
				"d: arrived",
				"summary: Writes Go",
			},
			w.brief(),
		)
		w.publish()
		w.published()
	}
}

// FuzzLook writes anything into the files. Whatever it is: what was taken over can be undone, what was not waits,
// and looking again changes nothing.
func FuzzLook(f *testing.F) {
	f.Add(
		[]byte(
			`{"version": 2, "revision": 5, "memories": [{"id": "a", "content": "The API"}, {"content": "x", "tags": ["y"]}]}`,
		),
		false,
	)
	f.Add(
		[]byte(
			`{"version": 2, "memories": [{"id": "c", "content": "Commits", "status": "retired"}], "forgotten": [{"hash": "x"}]}`,
		),
		false,
	)
	f.Add(
		[]byte(
			`{"date": "2026-02-21", "revision": 9, "entries": [{"id": "e1", "content": "moved", "time": "25:00"}], "archived": true}`,
		),
		true,
	)
	f.Add([]byte(`{"date": "2026-02-21", "entries": []}`), true)
	f.Add([]byte(`{"version": 2, "memories": [`), false)
	f.Fuzz(func(t *testing.T, data []byte, log bool) {
		w := newWorld(t)
		w.three()
		w.twoDays()
		name := file
		if log {
			name = logName
		}
		before := w.state()
		w.write(name, string(data))
		w.look()
		numbers, _ := w.ops()
		if len(numbers) > 1 {
			t.Fatalf("%d operations", len(numbers))
		}
		w.publish()
		lsn, waiting := w.store.LSN(), w.waiting()
		w.look()
		if w.store.LSN() != lsn {
			t.Fatal("looking again changed something")
		}
		diff(t, "edits that wait", waiting, w.waiting())
		if len(waiting) == 0 {
			w.published()
		}
		if len(numbers) == 1 {
			_, err := w.store.Undo(t.Context(), store.Meta{}, numbers[0])
			must(t, err)
		}
		diff(t, "state after undo", before, w.state())
	})
}
